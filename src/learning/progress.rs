//! How far learning is: noted in the store, so that whoever goes on does so where it was left.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::Settings;
use crate::domain::memory::{Backing, Returned};
use crate::domain::{LessonDraft, Scope, Trace};
use crate::store::Revision;

/// How far learning is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Progress {
    /// The last trace that was looked at.
    pub(super) traces: Revision,
    /// The last verdict that was looked at.
    pub(super) feedback: Revision,
    /// Drafts whose calls are with clients, oldest first.
    waiting: VecDeque<Waiting>,
}

/// A draft whose calls are with a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Waiting {
    pub(super) scope: Scope,
    pub(super) session: String,
    /// The turn that it comes from.
    pub(super) trace: String,
    pub(super) since: Timestamp,
    /// The calls that have to come back.
    calls: Vec<String>,
    pub(super) draft: LessonDraft,
}

impl Progress {
    /// Lets a draft wait for its calls. Without a session nobody could tell whose calls come back: nothing is claimed then.
    pub(super) fn wait(&mut self, trace: &Trace, scope: &Scope, draft: &LessonDraft, settings: &Settings) {
        let (Backing::Awaits(calls), Some(session)) = (&draft.backing, &trace.session) else { return };
        self.waiting.push_back(Waiting {
            scope: scope.clone(),
            session: session.clone(),
            trace: trace.id.clone(),
            since: trace.started_at,
            calls: calls.clone(),
            draft: draft.clone(),
        });
        let surplus = self.waiting.len().saturating_sub(settings.max_waiting);
        self.waiting.drain(..surplus);
    }

    /// Calls of a session came back. Says which drafts are verified by that; those of which a call failed are given up.
    pub(super) fn came_back(&mut self, scope: &Scope, session: &str, returned: &[Returned]) -> Vec<Waiting> {
        let mut verified = Vec::new();
        self.waiting.retain_mut(|waiting| {
            if waiting.scope != *scope || waiting.session != session {
                return true;
            }
            let is_of = |returned: &&Returned| waiting.calls.contains(&returned.call);
            if returned.iter().filter(is_of).any(|returned| returned.failed) {
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

    /// The turn was wrong: nothing of it is waited for any more.
    pub(super) fn refute(&mut self, trace: &str) {
        self.waiting.retain(|waiting| waiting.trace != trace);
    }

    /// Gives up what has waited too long.
    pub(super) fn expire(&mut self, now: Timestamp, settings: &Settings) {
        let patience = SignedDuration::from_hours(i64::from(settings.waiting_hours));
        self.waiting.retain(|waiting| now.duration_since(waiting.since) < patience);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::memory::Polarity;
    use crate::domain::{EvidenceKind, trace};

    fn draft(calls: &[&str]) -> LessonDraft {
        LessonDraft {
            kind: EvidenceKind::Mended,
            toolset: None,
            tools: vec!["book".to_owned()],
            polarity: Polarity::Negative,
            key: "book".to_owned(),
            value: calls.concat(),
            backing: Backing::Awaits(calls.iter().map(|call| (*call).to_owned()).collect()),
        }
    }

    fn back(call: &str, failed: bool) -> Returned {
        Returned { call: call.to_owned(), tool: "book".to_owned(), failed }
    }

    fn waiting_for(drafts: &[LessonDraft], settings: &Settings) -> (Progress, Scope) {
        let (mut progress, scope) = (Progress::default(), Scope::of_key("a"));
        let turn = Trace { session: Some("s".to_owned()), ..trace::sample() };
        drafts.iter().for_each(|draft| progress.wait(&turn, &scope, draft, settings));
        (progress, scope)
    }

    fn said(verified: &[Waiting]) -> Vec<&str> {
        verified.iter().map(|waiting| waiting.draft.value.as_str()).collect()
    }

    #[test]
    fn a_draft_is_verified_when_all_its_calls_have_come_back_in_its_own_session() {
        let (mut progress, scope) = waiting_for(&[draft(&["1", "2"]), draft(&["3"])], &Settings::default());
        assert!(progress.came_back(&scope, "other", &[back("3", false)]).is_empty());
        assert!(progress.came_back(&Scope::of_key("b"), "s", &[back("3", false)]).is_empty());
        assert!(progress.came_back(&scope, "s", &[back("1", false)]).is_empty());
        assert_eq!(said(&progress.came_back(&scope, "s", &[back("3", false), back("2", false)])), ["12", "3"]);
        assert_eq!(progress.waiting, []);
    }

    #[test]
    fn a_draft_whose_call_failed_is_given_up() {
        let (mut progress, scope) = waiting_for(&[draft(&["1", "2"])], &Settings::default());
        assert!(progress.came_back(&scope, "s", &[back("1", true)]).is_empty());
        assert!(progress.came_back(&scope, "s", &[back("1", false), back("2", false)]).is_empty());
    }

    #[test]
    fn what_waits_is_bounded_in_number_and_time_and_ends_with_a_verdict() {
        let settings = Settings { max_waiting: 2, waiting_hours: 1, ..Settings::default() };
        let (progress, scope) = waiting_for(&[draft(&["1"]), draft(&["2"]), draft(&["3"])], &settings);
        let all = [back("1", false), back("2", false), back("3", false)];
        assert_eq!(said(&progress.clone().came_back(&scope, "s", &all)), ["2", "3"]);
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
    fn without_a_session_nothing_is_waited_for() {
        let (mut progress, scope) = (Progress::default(), Scope::of_key("a"));
        progress.wait(&trace::sample(), &scope, &draft(&["1"]), &Settings::default());
        assert_eq!(progress, Progress::default());
    }
}
