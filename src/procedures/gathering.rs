//! Recorded turns → procedures, where something verifies what they did.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use jiff::Timestamp;

use super::Settings;
use super::merging::{Joined, join};
use crate::domain::memory::{Backing, EvidenceKind, MemoryNote};
use crate::domain::{Evidence, Procedure, ProcedureDraft, Scope, Trace};

/// Drafts that wait for their calls to come back; what waits longest is forgotten first.
const MAX_WAITING: usize = 10_000;

/// Learns procedures from traces, one after the other in the order in which the turns were.
///
/// A draft is verified by somebody who vouches for the turn, by what the proxy itself saw, or by calls that come back from the client
/// without a failure in a later turn of the same client and session. Anything else teaches nothing.
#[derive(Debug)]
pub struct Gathering {
    settings: Settings,
    known: BTreeMap<String, Arc<Procedure>>,
    /// Ids of those that are new or otherwise now.
    changed: BTreeMap<String, bool>,
    waiting: Vec<Waiting>,
    /// What there was.
    tally: Gathered,
}

/// What there was in traces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gathered {
    /// Turns.
    pub turns: u64,
    /// Of them, those that did something which may become a procedure.
    pub workflows: u64,
    /// Of these, those that nothing verified.
    pub unverified: u64,
    /// Procedures that were learned.
    pub new: u64,
    /// Procedures that were known and rest on more now.
    pub joined: u64,
}

/// A draft whose calls are with the client.
#[derive(Debug)]
struct Waiting {
    /// Whose turn it was.
    turn: (String, Option<String>),
    /// Ids of the calls that have not come back.
    calls: Vec<String>,
    draft: ProcedureDraft,
    scope: Scope,
    evidence: Evidence,
}

impl Gathering {
    /// Nothing gathered yet; `known` are the procedures that there are.
    pub fn new(known: impl IntoIterator<Item = Procedure>, settings: Settings) -> Self {
        let known = known.into_iter().map(|procedure| (procedure.id.clone(), Arc::new(procedure)));
        let (changed, waiting) = (BTreeMap::new(), Vec::new());
        Self { settings, known: known.collect(), changed, waiting, tally: Gathered::default() }
    }

    /// Takes in a turn; `vouched` says who vouches for it, where somebody does.
    pub fn add(&mut self, trace: &Trace, vouched: Option<EvidenceKind>, now: Timestamp) {
        self.tally.turns += 1;
        let Some(memory) = &trace.memory else { return };
        self.returned(trace, memory, now);
        let Some(draft) = &memory.workflow else { return };
        self.tally.workflows += 1;
        let evidence = |kind: EvidenceKind| Evidence {
            kind,
            trace: Some(trace.id.clone()),
            session: trace.session.clone(),
            source: None,
            at: trace.started_at,
        };
        match (vouched, &draft.backing) {
            (Some(kind), _) => self.learn(draft, evidence(kind), &memory.scope, now),
            (None, Backing::Seen) => self.learn(draft, evidence(EvidenceKind::Mended), &memory.scope, now),
            // Without a session nobody knows whose conversation the calls come back in.
            (None, Backing::Awaits(calls)) if trace.session.is_some() => {
                if self.waiting.len() >= MAX_WAITING {
                    self.waiting.remove(0);
                    self.tally.unverified += 1;
                }
                self.waiting.push(Waiting {
                    turn: (trace.tenant.clone(), trace.session.clone()),
                    calls: calls.clone(),
                    draft: draft.clone(),
                    scope: memory.scope.clone(),
                    evidence: evidence(EvidenceKind::Mended),
                });
            }
            (None, Backing::Awaits(_) | Backing::Verdict) => self.tally.unverified += 1,
        }
    }

    /// What was learned: the procedures that are new or otherwise now, and what there was.
    pub fn finish(mut self) -> (Vec<Procedure>, Gathered) {
        self.tally.unverified += self.waiting.len() as u64;
        self.tally.new = self.changed.values().filter(|is_new| **is_new).count() as u64;
        self.tally.joined = self.changed.len() as u64 - self.tally.new;
        let changed = self.changed.keys().filter_map(|id| self.known.get(id));
        (changed.map(|procedure| Procedure::clone(procedure)).collect(), self.tally)
    }

    /// Calls came back: drafts that waited for them are verified, or are not right.
    fn returned(&mut self, trace: &Trace, memory: &MemoryNote, now: Timestamp) {
        if memory.returned.is_empty() || self.waiting.is_empty() {
            return;
        }
        let results: HashMap<&str, bool> =
            memory.returned.iter().map(|returned| (returned.call.as_str(), returned.failed)).collect();
        let mut verified = Vec::new();
        for mut waiting in std::mem::take(&mut self.waiting) {
            let (tenant, session) = &waiting.turn;
            let is_same = *tenant == trace.tenant && *session == trace.session;
            let failed = |call: &String| results.get(call.as_str()) == Some(&true);
            if is_same && waiting.calls.iter().any(failed) {
                self.tally.unverified += 1;
                continue;
            }
            if is_same {
                waiting.calls.retain(|call| !results.contains_key(call.as_str()));
            }
            if waiting.calls.is_empty() { verified.push(waiting) } else { self.waiting.push(waiting) }
        }
        for Waiting { draft, scope, evidence, .. } in verified {
            self.learn(&draft, evidence, &scope, now);
        }
    }

    fn learn(&mut self, draft: &ProcedureDraft, evidence: Evidence, scope: &Scope, now: Timestamp) {
        let (procedure, is_new) = match join(self.known.values(), (draft, evidence), scope, now, &self.settings) {
            Joined::New(procedure) => (procedure, true),
            Joined::Changed(procedure) => (procedure, false),
            Joined::Known => return,
        };
        self.changed.entry(procedure.id.clone()).or_insert(is_new);
        self.known.insert(procedure.id.clone(), Arc::new(procedure));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::procedures::testing::draft;

    fn trace(id: &str, workflow: Option<Backing>, returned: &[(&str, bool)]) -> Trace {
        let arguments = [("find_person", "name", "?"), ("book_room", "person_id", "step1/id")];
        let workflow = workflow.map(|backing| ProcedureDraft { backing, ..draft("Books a room", &arguments) });
        let returned: Vec<_> =
            returned.iter().map(|(call, failed)| json!({"call": call, "tool": "t", "failed": failed})).collect();
        let trace = json!({"id": id, "tenant": "jill", "session": "s", "started_at": "2026-01-01T00:00:00Z", "endpoint": "", "model": "", "upstream": "",
            "policy": "", "mode": "guard", "stream": false, "status": 200, "verdict": "clean", "tools_offered": [], "attempts": [],
            "executions": [], "record": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, "duration_ms": 0.0,
            "overhead_ms": 0.0, "memory": {"scope": "group:a", "returned": returned}});
        let mut trace: Trace = serde_json::from_value(trace).unwrap();
        trace.memory.iter_mut().for_each(|memory| memory.workflow = workflow.clone());
        trace
    }

    fn gathered(traces: &[(Trace, Option<EvidenceKind>)]) -> (Vec<Procedure>, Gathered) {
        let mut gathering = Gathering::new([], Settings::default());
        traces.iter().for_each(|(trace, vouched)| gathering.add(trace, *vouched, Timestamp::UNIX_EPOCH));
        gathering.finish()
    }

    #[test]
    fn only_what_was_verified_is_learned() {
        let (procedures, tally) =
            gathered(&[(trace("t1", Some(Backing::Verdict), &[]), None), (trace("t2", None, &[]), None)]);
        assert!(procedures.is_empty());
        assert_eq!((tally.turns, tally.workflows, tally.unverified), (2, 1, 1));
        let (procedures, tally) = gathered(&[
            (trace("t1", Some(Backing::Verdict), &[]), Some(EvidenceKind::Feedback)),
            (trace("t2", Some(Backing::Seen), &[]), None),
            (trace("t2", Some(Backing::Seen), &[]), None),
        ]);
        assert_eq!((procedures.len(), tally.new, tally.joined), (1, 1, 0));
        let kinds: Vec<EvidenceKind> = procedures[0].evidence.iter().map(|evidence| evidence.kind).collect();
        assert_eq!(kinds, [EvidenceKind::Feedback, EvidenceKind::Mended], "the same turn counts once");
    }

    #[test]
    fn calls_have_to_come_back_to_the_same_client_and_without_a_failure() {
        let awaits = || trace("t1", Some(Backing::Awaits(vec!["c1".to_owned(), "c2".to_owned()])), &[]);
        let back = |returned: &[(&str, bool)]| (trace("t2", None, returned), None);
        let learned = |later: Vec<(Trace, Option<EvidenceKind>)>| {
            let traces: Vec<_> = std::iter::once((awaits(), None)).chain(later).collect();
            gathered(&traces).0.len()
        };
        assert_eq!(learned(vec![back(&[("c1", false), ("c2", false)])]), 1);
        assert_eq!(learned(vec![back(&[("c1", false)]), back(&[("c2", false)])]), 1);
        assert_eq!(learned(vec![back(&[("c1", false)])]), 0);
        assert_eq!(learned(vec![back(&[("c1", true), ("c2", false)]), back(&[("c1", false), ("c2", false)])]), 0);
        let mut others = trace("t2", None, &[("c1", false), ("c2", false)]);
        others.tenant = "jack".to_owned();
        assert_eq!(learned(vec![(others, None)]), 0);
        let mut elsewhere = trace("t2", None, &[("c1", false), ("c2", false)]);
        elsewhere.session = None;
        assert_eq!(learned(vec![(elsewhere, None)]), 0);
    }

    #[test]
    fn what_is_known_rests_on_more() {
        let (procedures, _) = gathered(&[(trace("t1", Some(Backing::Seen), &[]), None)]);
        let mut gathering = Gathering::new(procedures, Settings::default());
        gathering.add(&trace("t2", Some(Backing::Seen), &[]), None, Timestamp::UNIX_EPOCH);
        let (changed, tally) = gathering.finish();
        assert_eq!((changed[0].evidence.len(), tally.new, tally.joined), (2, 0, 1));
    }
}
