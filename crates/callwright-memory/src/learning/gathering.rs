//! Learns procedures from recorded turns at once, as the job does turn by turn.

use std::sync::Arc;

use jiff::Timestamp;

use super::Settings;
use super::progress::{AwaitedDraft, LearningProgress};
use super::workflows::Workflows;
use crate::procedures::ProcedureStore;
use callwright_store::FeedbackRow;
use callwright_types::{EvidenceKind, Procedure, Trace};

/// Learns procedures from traces, which must be given in the order of the turns.
#[derive(Debug)]
pub struct Gathering {
    settings: Settings,
    progress: LearningProgress,
    workflows: Workflows,
    counts: GatheringCounts,
}

#[derive(Debug, Clone, Copy)]
pub enum TurnJudgement<'a> {
    /// No judgement: the observed outcome decides.
    None,
    /// The turn was right, according to this kind of evidence.
    Right(EvidenceKind),
    /// The turn was wrong according to this feedback: it is not learned from, and procedures that rest only on it are
    /// retired.
    Wrong(&'a FeedbackRow),
}

/// Counts over traces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GatheringCounts {
    pub turns: u64,
    /// Turns with a workflow that may become a procedure.
    pub workflows: u64,
    /// Workflows without verification.
    pub unverified: u64,
    /// New procedures.
    pub new: u64,
    /// Stored procedures that changed: they have more evidence, or were retired.
    pub joined: u64,
}

impl Gathering {
    /// Creates an empty run; `library` has the stored procedures.
    pub fn new(library: Arc<ProcedureStore>, settings: Settings, now: Timestamp) -> Self {
        let workflows = Workflows::new(library, now);
        Self { settings, progress: LearningProgress::default(), workflows, counts: GatheringCounts::default() }
    }

    /// Adds a turn and its judgement.
    pub fn turn(&mut self, trace: &Trace, judgement: TurnJudgement<'_>) {
        self.counts.turns += 1;
        let Some(memory) = &trace.memory else { return };
        self.progress.expire(trace.started_at, &self.settings);
        for waiting in self.progress.take_verified(trace, memory) {
            if let AwaitedDraft::Workflow(draft) = &waiting.draft {
                self.workflows.learn(&waiting.scope, draft, waiting.evidence());
                self.counts.unverified = self.counts.unverified.saturating_sub(1);
            }
        }
        self.counts.workflows += u64::from(memory.workflow.is_some());
        let is_verified = match judgement {
            TurnJudgement::Right(kind) => self.workflows.confirm(memory, trace, trace.evidence(kind, trace.started_at)),
            TurnJudgement::Wrong(row) => {
                self.workflows.refute(memory, row, trace);
                false
            }
            TurnJudgement::None => self.workflows.turn(&mut self.progress, trace, memory, &self.settings),
        };
        self.counts.unverified += u64::from(memory.workflow.is_some() && !is_verified);
    }

    /// Returns new and changed procedures, and the counts.
    pub fn finish(mut self) -> (Vec<Procedure>, GatheringCounts) {
        let changed: Vec<Procedure> = self.workflows.changed().cloned().collect();
        self.counts.new = self.workflows.new_ones() as u64;
        self.counts.joined = changed.len() as u64 - self.counts.new;
        (changed, self.counts)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::procedures::testing::{draft, stored};
    use callwright_store::FeedbackVerdict;
    use callwright_types::memory::{Backing, Returned};
    use callwright_types::{MemoryNote, ProcedureDraft, Scope, trace};

    /// Turn of the client `jill` in a group.
    fn turn(id: &str, workflow: Option<Backing>, returned: &[(&str, bool)]) -> Trace {
        let arguments = [("find_person", "name", "?"), ("book_room", "person_id", "step1/id")];
        let workflow = workflow.map(|backing| ProcedureDraft { backing, ..draft("Books a room", &arguments) });
        let back = |(call, failed): &(&str, bool)| Returned {
            call: (*call).to_owned(),
            tool: "book_room".to_owned(),
            failed: *failed,
        };
        let returned = returned.iter().map(back).collect();
        let memory = MemoryNote { workflow, returned, ..MemoryNote::of(Scope::of_group("a")) };
        let (tenant, session) = ("jill".to_owned(), Some("s".to_owned()));
        Trace { id: id.to_owned(), tenant, session, memory: Some(memory), ..trace::sample() }
    }

    fn gathering(known: Vec<Procedure>) -> Gathering {
        let known = known.into_iter().map(|procedure| stored(&Arc::new(procedure)));
        let library = ProcedureStore::new(known, crate::procedures::Settings::default());
        Gathering::new(Arc::new(library), Settings::default(), Timestamp::UNIX_EPOCH)
    }

    fn gathered(traces: &[(Trace, TurnJudgement<'_>)]) -> (Vec<Procedure>, GatheringCounts) {
        let mut gathering = gathering(Vec::new());
        traces.iter().for_each(|(trace, word)| gathering.turn(trace, *word));
        gathering.finish()
    }

    #[test]
    fn only_verified_workflows_are_learned() {
        let (procedures, counts) = gathered(&[
            (turn("t1", Some(Backing::Verdict), &[]), TurnJudgement::None),
            (turn("t2", None, &[]), TurnJudgement::None),
        ]);
        assert!(procedures.is_empty());
        assert_eq!((counts.turns, counts.workflows, counts.unverified), (2, 1, 1));
        let (procedures, counts) = gathered(&[
            (turn("t1", Some(Backing::Verdict), &[]), TurnJudgement::Right(EvidenceKind::Feedback)),
            (turn("t2", Some(Backing::Seen), &[]), TurnJudgement::None),
            (turn("t2", Some(Backing::Seen), &[]), TurnJudgement::None),
        ]);
        assert_eq!((procedures.len(), counts.new, counts.joined), (1, 1, 0));
        let kinds: Vec<EvidenceKind> = procedures[0].evidence.iter().map(|evidence| evidence.kind).collect();
        assert_eq!(kinds, [EvidenceKind::Feedback, EvidenceKind::Mended], "the same turn counts once");
    }

    #[test]
    fn results_must_arrive_from_the_same_client_without_a_failure() {
        let awaits = || turn("t1", Some(Backing::Awaits(vec!["c1".to_owned(), "c2".to_owned()])), &[]);
        let back = |returned: &[(&str, bool)]| turn("t2", None, returned);
        let learned = |later: Vec<Trace>| {
            let traces: Vec<_> =
                std::iter::once(awaits()).chain(later).map(|trace| (trace, TurnJudgement::None)).collect();
            let (procedures, counts) = gathered(&traces);
            assert_eq!(counts.unverified, 1 - procedures.len() as u64);
            procedures.len()
        };
        assert_eq!(learned(vec![back(&[("c1", false), ("c2", false)])]), 1);
        assert_eq!(learned(vec![back(&[("c1", false)]), back(&[("c2", false)])]), 1);
        assert_eq!(learned(vec![back(&[("c1", false)])]), 0);
        assert_eq!(learned(vec![back(&[("c1", true), ("c2", false)]), back(&[("c1", false), ("c2", false)])]), 0);
        let others = Trace { tenant: "jack".to_owned(), ..back(&[("c1", false), ("c2", false)]) };
        assert_eq!(learned(vec![others]), 0);
        let elsewhere = Trace { session: None, ..back(&[("c1", false), ("c2", false)]) };
        assert_eq!(learned(vec![elsewhere]), 0);
        // The model chooses call ids: returned calls belong to an earlier turn.
        let backing = Backing::Awaits(vec!["c1".to_owned()]);
        assert!(gathered(&[(turn("t1", Some(backing), &[("c1", false)]), TurnJudgement::None)]).0.is_empty());
    }

    #[test]
    fn a_known_procedure_gets_more_evidence() {
        let (procedures, _) = gathered(&[(turn("t1", Some(Backing::Seen), &[]), TurnJudgement::None)]);
        let mut gathering = gathering(procedures);
        gathering.turn(&turn("t2", Some(Backing::Seen), &[]), TurnJudgement::None);
        let (changed, counts) = gathering.finish();
        assert_eq!((changed[0].evidence.len(), counts.new, counts.joined), (2, 0, 1));
    }

    #[test]
    fn a_turn_that_was_wrong_teaches_nothing_and_is_no_evidence() {
        let row = json!({"trace": "t1", "source": FeedbackRow::OPERATOR, "verdict": FeedbackVerdict::Wrong, "at": Timestamp::UNIX_EPOCH});
        let row: FeedbackRow = serde_json::from_value(row).unwrap();
        let (procedures, counts) = gathered(&[(turn("t1", Some(Backing::Seen), &[]), TurnJudgement::Wrong(&row))]);
        assert_eq!((procedures.len(), counts.unverified), (0, 1));
        let (earlier, _) = gathered(&[(turn("t1", Some(Backing::Seen), &[]), TurnJudgement::None)]);
        let mut gathering = gathering(earlier);
        gathering.turn(&turn("t1", Some(Backing::Seen), &[]), TurnJudgement::Wrong(&row));
        let (changed, _) = gathering.finish();
        assert!(changed[0].retired.as_ref().unwrap().reason.contains("an operator"), "{changed:?}");
    }
}
