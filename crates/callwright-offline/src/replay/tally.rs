//! All that a replay counts.

use std::collections::BTreeMap;

use serde::Serialize;

use super::again::again;
use super::answer::Answer;
use super::fates::{Budget, Fate, Fates, TurnFates};
use super::reading::{Record, Summary};
use super::recorded::{counted_attempts, recorded};
use super::rows::Rows;
use crate::judge::Judge;
use callwright_common::text::excerpt;
use callwright_types::rules::Mode;
use callwright_types::{FaultCode, Limits, RepairKind, Trace, Verdict};

/// Modes and policies that have a count of their own.
const MAX_NAMES: usize = 50;

/// Characters of such a name that are kept.
const MAX_NAME: usize = 64;

/// Stands for the names beyond the bound.
const OTHER: &str = "other";

/// What would have been done with the turns that were recorded.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Replay {
    /// Turns by the worst of their calls.
    pub turns: TurnFates,
    /// Calls.
    pub calls: Fates,
    /// Repairs by kind's label.
    pub repairs: BTreeMap<&'static str, u64>,
    /// Diagnoses by code.
    pub diagnoses: BTreeMap<FaultCode, u64>,
    /// Of calls, by code, what would only have been noted.
    pub noted: BTreeMap<FaultCode, u64>,
    /// Calls by the tool's name, as the model wrote it.
    pub tools: Rows,
    /// Calls by the model or alias that the client asked for.
    pub models: Rows,
    /// Where the judgement of the turns comes from.
    pub judged: Judgements,
    /// Turns by the mode that they ran in.
    pub modes: BTreeMap<String, u64>,
    /// Turns whose judgement is that of their time, by the policy that held then.
    pub policies: BTreeMap<String, u64>,
    /// Turns in mode `guard` whose calls were right after feedback.
    pub corrected: u64,
    /// Turns in mode `guard` that a limit ended.
    pub exhausted: u64,
    /// Answers that came of feedback, which are not counted.
    pub answers_to_feedback: u64,
    /// Lines that were read.
    pub lines: u64,
    /// Of them, those that could not be used, or not wholly.
    pub problems: u64,
}

/// Turns by where their judgement comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Judgements {
    /// Their bodies, under the policy given.
    pub again: u64,
    /// What was found when they were recorded.
    pub as_recorded: u64,
    /// A summary's verdict: their calls are not known.
    pub by_verdict_alone: u64,
    /// Nothing: they were not judged, and hold no bodies.
    pub not: u64,
}

impl Replay {
    /// Counts one record.
    pub(super) fn count(&mut self, record: &Record, judge: &Judge<'_>) {
        match record {
            Record::Trace(trace) => self.count_trace(trace, judge),
            Record::Summary(summary) => self.count_summary(summary, judge),
        }
    }

    fn count_trace(&mut self, trace: &Trace, judge: &Judge<'_>) {
        self.count_turn(trace);
        if let Some(answers) = again(trace, judge) {
            self.judged.again += 1;
            self.count_answers(trace, &answers, &judge.policy.limits);
        } else {
            self.count_judged(trace, &judge.policy.limits);
        }
    }

    /// Counts a turn as it was judged when it was recorded; `limits` say how often faults would have been sent back.
    pub fn count_recorded(&mut self, trace: &Trace, limits: &Limits) {
        self.count_turn(trace);
        self.count_judged(trace, limits);
    }

    fn count_judged(&mut self, trace: &Trace, limits: &Limits) {
        match recorded(trace) {
            Some(answers) => {
                self.judged.as_recorded += 1;
                bump(&mut self.policies, &trace.policy, 1);
                self.count_answers(trace, &answers, limits);
            }
            None => {
                self.judged.not += 1;
                self.turns.unknown += 1;
            }
        }
    }

    fn count_turn(&mut self, trace: &Trace) {
        bump(&mut self.modes, &trace.mode, 1);
        let is_guard = trace.mode == Mode::Guard.label();
        self.corrected += u64::from(is_guard && trace.verdict == Verdict::Corrected);
        self.exhausted += u64::from(is_guard && trace.exhausted.is_some());
        self.answers_to_feedback += (trace.attempts.len() - counted_attempts(trace).count()) as u64;
    }

    fn count_answers(&mut self, trace: &Trace, answers: &[Answer], limits: &Limits) {
        // Several answers of one attempt are its choices.
        let choices = answers.iter().filter(|answer| answer.attempt == 0).count();
        let mut budget = Budget::of(trace, limits, choices);
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

    fn count_calls(&mut self, model: &str, answer: &Answer, fates: &[Fate]) {
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

    fn count_summary(&mut self, summary: &Summary, judge: &Judge<'_>) {
        bump(&mut self.modes, &summary.mode, 1);
        self.judged.by_verdict_alone += 1;
        bump(&mut self.policies, &summary.policy, 1);
        let limits = &judge.policy.limits;
        let faulty = match limits.static_feedback > 0 && limits.upstream_requests > 1 {
            true => Fate::SentBack,
            false => Fate::HandedOver,
        };
        match summary.verdict {
            Verdict::Text => self.turns.text += 1,
            Verdict::Clean => self.turns.calling.count(Fate::Clean),
            Verdict::Repaired => self.turns.calling.count(Fate::Repaired),
            Verdict::Corrected | Verdict::Faulty => self.turns.calling.count(faulty),
            Verdict::Unguarded => self.turns.unknown += 1,
        }
    }

    /// Adds what was counted elsewhere.
    pub(super) fn add(&mut self, other: Self) {
        self.turns.add(&other.turns);
        self.calls.add(&other.calls);
        for (kind, count) in other.repairs {
            *self.repairs.entry(kind).or_default() += count;
        }
        for (code, count) in other.diagnoses {
            *self.diagnoses.entry(code).or_default() += count;
        }
        for (code, count) in other.noted {
            *self.noted.entry(code).or_default() += count;
        }
        self.tools.add(&other.tools);
        self.models.add(&other.models);
        self.judged.again += other.judged.again;
        self.judged.as_recorded += other.judged.as_recorded;
        self.judged.by_verdict_alone += other.judged.by_verdict_alone;
        self.judged.not += other.judged.not;
        other.modes.iter().for_each(|(mode, count)| bump(&mut self.modes, mode, *count));
        other.policies.iter().for_each(|(policy, count)| bump(&mut self.policies, policy, *count));
        self.corrected += other.corrected;
        self.exhausted += other.exhausted;
        self.answers_to_feedback += other.answers_to_feedback;
        self.lines += other.lines;
        self.problems += other.problems;
    }
}

fn bump(counts: &mut BTreeMap<String, u64>, name: &str, count: u64) {
    let name = excerpt(name, MAX_NAME);
    let name = if counts.len() >= MAX_NAMES && !counts.contains_key(&name) { OTHER.to_owned() } else { name };
    *counts.entry(name).or_default() += count;
}
