//! Counts of a replay.

use std::collections::BTreeMap;

use serde::Serialize;

use super::again::again;
use super::answer::ReplayedAnswer;
use super::answer::{counted_attempts, recorded};
use super::fates::{Fate, Fates, ReplayBudget, TurnFates};
use super::reading::{ListedTrace, TraceRecord};
use super::rows::Rows;
use crate::judge::Judge;
use callwright_common::limits::NAME_LENGTH;
use callwright_common::text::excerpt;
use callwright_types::rules::Mode;
use callwright_types::{FaultCode, Limits, RepairKind, Trace, Verdict};

/// Maximum number of modes and of policies with a separate count.
const MAX_NAMES: usize = 50;

/// Name for all names beyond the limit.
const OTHER: &str = "other";

/// Outcomes of recorded turns under a policy.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Replay {
    /// Turns by the worst outcome of their calls.
    pub turns: TurnFates,
    /// Calls by outcome.
    pub calls: Fates,
    /// Repairs by label of their kind.
    pub repairs: BTreeMap<&'static str, u64>,
    pub diagnoses: BTreeMap<FaultCode, u64>,
    /// Faults that would only be noted, by code.
    pub noted: BTreeMap<FaultCode, u64>,
    /// Calls by tool name, as written by the model.
    pub tools: Rows,
    /// Calls by the requested model or alias.
    pub models: Rows,
    /// Turns by the source of their judgement.
    pub judged: Judgements,
    /// Turns by their mode.
    pub modes: BTreeMap<String, u64>,
    /// Turns with a recorded judgement, by the policy at that time.
    pub policies: BTreeMap<String, u64>,
    /// Turns in mode `guard` that feedback corrected.
    pub corrected: u64,
    /// Turns in mode `guard` that a limit ended.
    pub exhausted: u64,
    /// Answers to feedback, which are not counted.
    pub answers_to_feedback: u64,
    pub lines: u64,
    /// Lines that are unusable as a whole or in part.
    pub problems: u64,
}

/// Turns by the source of their judgement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Judgements {
    /// Judged again from their bodies, under the given policy.
    pub again: u64,
    /// Judgement at the time of recording.
    pub as_recorded: u64,
    /// Verdict of a summary, without its calls.
    pub by_verdict_alone: u64,
    /// Not judged, and without bodies.
    pub not: u64,
}

/// Recorded turn with the answers as judged again, if it holds the bodies that judging requires.
pub(super) struct JudgedTrace {
    record: TraceRecord,
    again: Option<Vec<ReplayedAnswer>>,
}

impl JudgedTrace {
    pub(super) fn new(record: TraceRecord, judge: &Judge<'_>) -> Self {
        let again = match &record {
            TraceRecord::Trace(trace) => again(trace, judge),
            TraceRecord::Summary(_) => None,
        };
        Self { record, again }
    }
}

impl Replay {
    pub(super) fn count(&mut self, judged: &JudgedTrace, limits: &Limits) {
        match (&judged.record, &judged.again) {
            (TraceRecord::Trace(trace), Some(answers)) => {
                self.count_turn(trace);
                self.judged.again += 1;
                self.count_answers(trace, answers, limits);
            }
            (TraceRecord::Trace(trace), None) => self.count_recorded(trace, limits),
            (TraceRecord::Summary(summary), _) => self.count_summary(summary, limits),
        }
    }

    /// Counts a turn with its recorded judgement; `limits` determine how often faults would be sent back.
    pub fn count_recorded(&mut self, trace: &Trace, limits: &Limits) {
        self.count_turn(trace);
        match recorded(trace) {
            Some(answers) => {
                self.judged.as_recorded += 1;
                bump(&mut self.policies, &trace.policy);
                self.count_answers(trace, &answers, limits);
            }
            None => {
                self.judged.not += 1;
                self.turns.unknown += 1;
            }
        }
    }

    fn count_turn(&mut self, trace: &Trace) {
        bump(&mut self.modes, trace.mode.label());
        let is_guard = trace.mode == Mode::Guard;
        self.corrected += u64::from(is_guard && trace.verdict == Verdict::Corrected);
        self.exhausted += u64::from(is_guard && trace.exhausted.is_some());
        self.answers_to_feedback += (trace.attempts.len() - counted_attempts(trace).count()) as u64;
    }

    fn count_answers(&mut self, trace: &Trace, answers: &[ReplayedAnswer], limits: &Limits) {
        // Several answers of one attempt are its choices.
        let choices = answers.iter().filter(|answer| answer.attempt == 0).count();
        let mut budget = ReplayBudget::of(trace, limits, choices);
        let fates = answers.iter().filter_map(|answer| {
            let fates = budget.fates(answer);
            self.count_calls(&trace.model, answer, &fates);
            fates.into_iter().max()
        });
        match fates.max() {
            Some(worst) => self.turns.calling.count(worst),
            None => self.turns.text += 1,
        }
    }

    fn count_calls(&mut self, model: &str, answer: &ReplayedAnswer, fates: &[Fate]) {
        for (call, fate) in answer.calls.iter().zip(fates) {
            self.calls.count(*fate);
            self.tools.count(&call.tool, *fate);
            self.models.count(model, *fate);
            for kind in &call.repairs {
                *self.repairs.entry(RepairKind::label(*kind)).or_default() += 1;
            }
            for code in &call.codes {
                *self.diagnoses.entry(*code).or_default() += 1;
            }
            for code in &call.noted {
                *self.noted.entry(*code).or_default() += 1;
            }
        }
    }

    fn count_summary(&mut self, summary: &ListedTrace, limits: &Limits) {
        bump(&mut self.modes, &summary.mode);
        self.judged.by_verdict_alone += 1;
        bump(&mut self.policies, &summary.policy);
        let faulty = match limits.static_feedback > 0 && limits.upstream_requests > 1 {
            true => Fate::SentBack,
            false => Fate::HandedOver,
        };
        match summary.verdict {
            Verdict::Text => self.turns.text += 1,
            Verdict::Clean => self.turns.calling.count(Fate::Clean),
            Verdict::Repaired => self.turns.calling.count(Fate::Repaired),
            // The client got the faulty call unchanged.
            Verdict::Faulty if summary.would_have_been_repaired() => self.turns.calling.count(Fate::Repaired),
            Verdict::Corrected | Verdict::Faulty => self.turns.calling.count(faulty),
            // Their last calls were valid; whether the earlier ones were is not known.
            Verdict::Refused | Verdict::Failed | Verdict::Unguarded => self.turns.unknown += 1,
        }
    }
}

fn bump(counts: &mut BTreeMap<String, u64>, name: &str) {
    let name = excerpt(name, NAME_LENGTH);
    let name = if counts.len() >= MAX_NAMES && !counts.contains_key(&name) { OTHER.to_owned() } else { name };
    *counts.entry(name).or_default() += 1;
}
