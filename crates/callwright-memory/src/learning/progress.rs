//! Progress of learning, stored so that any process can continue.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::Settings;
use callwright_store::Revision;
use callwright_types::memory::Backing;
use callwright_types::{Evidence, EvidenceKind, LessonDraft, MemoryNote, ProcedureDraft, Scope, Trace};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct LearningProgress {
    /// Last processed trace.
    pub(super) traces: Revision,
    /// Last processed feedback.
    pub(super) feedback: Revision,
    /// Drafts that wait for results of client calls, oldest first.
    waiting: VecDeque<WaitingTurn>,
}

/// Draft that waits for results of client calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct WaitingTurn {
    pub(super) scope: Scope,
    /// Client: each client of a group with a shared scope has its own sessions.
    tenant: String,
    session: String,
    /// Trace id of the turn of the draft.
    trace: String,
    since: Timestamp,
    /// Ids of the calls whose results are missing.
    calls: Vec<String>,
    pub(super) draft: AwaitedDraft,
}

/// Draft to learn from once the results of its calls have arrived.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AwaitedDraft {
    Lesson(LessonDraft),
    Workflow(ProcedureDraft),
}

impl AwaitedDraft {
    fn backing(&self) -> &Backing {
        match self {
            Self::Lesson(draft) => &draft.backing,
            Self::Workflow(draft) => &draft.backing,
        }
    }

    fn kind(&self) -> EvidenceKind {
        match self {
            Self::Lesson(draft) => draft.kind,
            Self::Workflow(_) => EvidenceKind::Mended,
        }
    }
}

impl WaitingTurn {
    /// Returns the evidence that the results of its calls provide.
    pub(super) fn evidence(&self) -> Evidence {
        let (trace, session) = (Some(self.trace.clone()), Some(self.session.clone()));
        Evidence { kind: self.draft.kind(), trace, session, source: None, at: self.since }
    }
}

impl LearningProgress {
    /// Stores a draft until the results of its calls arrive. Without a session the results cannot be attributed, so
    /// that the draft is dropped.
    pub(super) fn wait(&mut self, trace: &Trace, scope: &Scope, draft: AwaitedDraft, settings: &Settings) {
        let (Backing::Awaits(calls), Some(session)) = (draft.backing(), &trace.session) else { return };
        if calls.is_empty() {
            return;
        }
        self.waiting.push_back(WaitingTurn {
            scope: scope.clone(),
            tenant: trace.tenant.clone(),
            session: session.clone(),
            trace: trace.id.clone(),
            since: trace.started_at,
            calls: calls.clone(),
            draft,
        });
        let surplus = self.waiting.len().saturating_sub(settings.max_waiting);
        self.waiting.drain(..surplus);
    }

    /// Processes the results of client calls in this turn. Returns the drafts of its session that they verify; drafts
    /// with a failed call are dropped.
    pub(super) fn take_verified(&mut self, trace: &Trace, memory: &MemoryNote) -> Vec<WaitingTurn> {
        let (mut verified, returned) = (Vec::new(), &memory.returned);
        if returned.is_empty() {
            return verified;
        }
        self.waiting.retain_mut(|waiting| {
            let is_same = waiting.scope == memory.scope && waiting.tenant == trace.tenant;
            if !is_same || Some(&waiting.session) != trace.session.as_ref() {
                return true;
            }
            if returned.iter().any(|returned| returned.failed && waiting.calls.contains(&returned.call)) {
                return false;
            }
            waiting.calls.retain(|call| !returned.iter().any(|returned| returned.call == *call));
            if waiting.calls.is_empty() {
                verified.push(waiting.clone());
            }
            !waiting.calls.is_empty()
        });
        verified
    }

    /// Drops the drafts of a turn that was judged wrong.
    pub(super) fn refute(&mut self, trace: &str) {
        self.waiting.retain(|waiting| waiting.trace != trace);
    }

    /// Drops expired drafts.
    pub(super) fn expire(&mut self, now: Timestamp, settings: &Settings) {
        let limit = SignedDuration::from_hours(i64::from(settings.waiting_hours));
        self.waiting.retain(|waiting| now.duration_since(waiting.since) < limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callwright_types::memory::{Polarity, Returned};
    use callwright_types::trace;

    fn draft(calls: &[&str]) -> AwaitedDraft {
        AwaitedDraft::Lesson(LessonDraft {
            kind: EvidenceKind::Mended,
            toolset: Some("hotel".to_owned()),
            tools: vec!["book".to_owned()],
            polarity: Polarity::Negative,
            key: "book".to_owned(),
            value: calls.concat(),
            client: None,
            backing: Backing::Awaits(calls.iter().map(|call| (*call).to_owned()).collect()),
        })
    }

    fn back(call: &str, failed: bool) -> Returned {
        Returned { call: call.to_owned(), tool: "book".to_owned(), failed }
    }

    fn waiting_for(drafts: &[AwaitedDraft], settings: &Settings) -> LearningProgress {
        let (mut progress, turn) = (LearningProgress::default(), turn("jill", "s"));
        drafts.iter().for_each(|draft| progress.wait(&turn, &scope("a"), draft.clone(), settings));
        progress
    }

    fn scope(group: &str) -> Scope {
        Scope::of_group(group)
    }

    fn turn(tenant: &str, session: &str) -> Trace {
        Trace { tenant: tenant.to_owned(), session: Some(session.to_owned()), ..trace::sample() }
    }

    /// Returns the drafts that are verified when the client `tenant` returns these calls.
    fn verified(
        progress: &mut LearningProgress,
        group: &str,
        (tenant, session): (&str, &str),
        returned: &[Returned],
    ) -> Vec<String> {
        let memory = MemoryNote { returned: returned.to_vec(), ..MemoryNote::of(scope(group)) };
        let verified = progress.take_verified(&turn(tenant, session), &memory).into_iter();
        let drafts = verified.map(|waiting| match waiting.draft {
            AwaitedDraft::Lesson(draft) => draft.value,
            AwaitedDraft::Workflow(draft) => draft.output,
        });
        drafts.collect()
    }

    #[test]
    fn a_draft_is_verified_once_its_session_has_all_its_results() {
        let mut progress = waiting_for(&[draft(&["1", "2"]), draft(&["3"])], &Settings::default());
        let (own, three) = (("jill", "s"), [back("3", false)]);
        assert!(verified(&mut progress, "a", ("jill", "other"), &three).is_empty());
        assert!(verified(&mut progress, "a", ("jack", "s"), &three).is_empty());
        assert!(verified(&mut progress, "b", own, &three).is_empty());
        assert!(verified(&mut progress, "a", own, &[back("1", false)]).is_empty());
        assert_eq!(verified(&mut progress, "a", own, &[back("3", false), back("2", false)]), ["12", "3"]);
        assert_eq!(progress.waiting, []);
    }

    #[test]
    fn a_draft_with_a_failed_call_is_dropped() {
        let mut progress = waiting_for(&[draft(&["1", "2"])], &Settings::default());
        assert!(verified(&mut progress, "a", ("jill", "s"), &[back("1", true)]).is_empty());
        assert!(verified(&mut progress, "a", ("jill", "s"), &[back("1", false), back("2", false)]).is_empty());
    }

    #[test]
    fn waiting_drafts_are_bounded_and_end_with_a_verdict() {
        let settings = Settings { max_waiting: 2, waiting_hours: 1, ..Settings::default() };
        let progress = waiting_for(&[draft(&["1"]), draft(&["2"]), draft(&["3"])], &settings);
        let all = [back("1", false), back("2", false), back("3", false)];
        assert_eq!(verified(&mut progress.clone(), "a", ("jill", "s"), &all), ["2", "3"]);
        let mut late = progress.clone();
        late.expire(Timestamp::from_second(3_599).unwrap(), &settings);
        assert_eq!(late.waiting.len(), 2);
        late.expire(Timestamp::from_second(3_600).unwrap(), &settings);
        assert_eq!(late.waiting, []);
        let mut refuted = progress;
        refuted.refute(&trace::sample().id);
        assert_eq!(refuted.waiting, []);
    }

    #[test]
    fn without_a_session_or_a_call_nothing_is_waited_for() {
        let mut progress = LearningProgress::default();
        progress.wait(&trace::sample(), &scope("a"), draft(&["1"]), &Settings::default());
        progress.wait(&turn("jill", "s"), &scope("a"), draft(&[]), &Settings::default());
        assert_eq!(progress, LearningProgress::default());
    }
}
