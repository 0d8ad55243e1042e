//! Judge: an answer → text, clean calls, repaired calls, or diagnoses. Total: it never fails.

use crate::domain::rules::{RepairRules, ScanRules};
use crate::domain::{Call, Diagnosis, Repair, Verdict};
use crate::openai::Completion;
use crate::pipeline::dialogue::Judged;
use crate::pipeline::turn::Turn;
use crate::repair;
use crate::scanner::{CheckedCall, Toolbook};

use super::offer::Offer;

/// One call, judged.
#[derive(Debug)]
pub(crate) struct JudgedCall {
    /// As the model made it.
    pub(crate) made: Call,
    /// After the repairs.
    pub(crate) mended: Call,
    /// What was repaired.
    pub(crate) repairs: Vec<Repair>,
    /// The call that may be passed on or executed, or what is wrong with it after the repairs.
    pub(crate) result: Result<CheckedCall, Vec<Diagnosis>>,
}

impl JudgedCall {
    /// The verdict on this call alone.
    pub(crate) fn verdict(&self) -> Verdict {
        match &self.result {
            Err(_) => Verdict::Faulty,
            Ok(_) if self.repairs.is_empty() => Verdict::Clean,
            Ok(_) => Verdict::Repaired,
        }
    }
}

/// An answer, judged.
#[derive(Debug)]
pub(crate) struct JudgedAnswer {
    /// The answer as it came.
    pub(crate) completion: Completion,
    /// Its calls, by choice.
    pub(crate) choices: Vec<Vec<JudgedCall>>,
}

/// Judges the calls of one message: repairs what loses nothing, then scans what came of it.
pub(crate) fn judge_calls(calls: &[Call], tools: &Toolbook, scan: &ScanRules, mend: &RepairRules) -> Vec<JudgedCall> {
    let judge = |(index, call): (usize, &Call)| {
        let (mended, result) = repair::judge(call, index, tools, scan, mend);
        JudgedCall { made: call.clone(), mended: mended.call, repairs: mended.repairs, result }
    };
    calls.iter().enumerate().map(judge).collect()
}

/// Judges an answer, counts what was found and notes it in the trace.
pub(crate) fn judge(turn: &mut Turn, offer: &Offer, completion: Completion) -> JudgedAnswer {
    let policy = turn.policy.clone();
    let choices: Vec<Vec<JudgedCall>> = completion
        .choices()
        .iter()
        .map(|choice| match offer.is_judged() {
            true => judge_calls(choice.message.calls(), &offer.toolbook, &policy.scan, &policy.repair),
            false => Vec::new(),
        })
        .collect();
    let judged = JudgedAnswer { completion, choices };
    if let Some(attempt) = turn.record.trace_mut().attempts.last_mut() {
        attempt.verdict = Some(judged.verdict());
        attempt.calls = judged.calls().map(|call| call.made.clone()).collect();
        attempt.diagnoses = judged.diagnoses().cloned().collect();
        attempt.repairs = judged.calls().flat_map(|call| call.repairs.iter().cloned()).collect();
    }
    note_reaction(turn, &judged);
    judged
}

/// Completes the open rounds of the record with what the model said and called next.
fn note_reaction(turn: &mut Turn, judged: &JudgedAnswer) {
    let (Some(choice), Some(calls)) = (judged.completion.choices().first(), judged.choices.first()) else { return };
    if turn.record.trace().record.is_empty() {
        return;
    }
    let actions: Vec<String> = calls.iter().map(|call| action(&call.made)).collect();
    let thought = choice.message.text().filter(|text| !text.trim().is_empty());
    turn.record.complete_rounds(thought.as_deref(), Some(actions.join("; ").as_str()).filter(|text| !text.is_empty()));
}

/// A call as the record of the feedback loop has it.
pub(crate) fn action(call: &Call) -> String {
    format!("{}({})", call.name, call.arguments)
}

impl JudgedAnswer {
    /// All calls of all choices.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &JudgedCall> {
        self.choices.iter().flatten()
    }

    /// All diagnoses.
    pub(crate) fn diagnoses(&self) -> impl Iterator<Item = &Diagnosis> {
        self.calls().filter_map(|call| call.result.as_ref().err()).flatten()
    }

    /// The verdict on this answer alone.
    pub(crate) fn verdict(&self) -> Verdict {
        let verdicts = || self.calls().map(JudgedCall::verdict);
        if verdicts().any(|verdict| verdict == Verdict::Faulty) {
            Verdict::Faulty
        } else if verdicts().any(|verdict| verdict == Verdict::Repaired) {
            Verdict::Repaired
        } else if verdicts().next().is_some() {
            Verdict::Clean
        } else {
            Verdict::Text
        }
    }

    /// Could the client make use of this answer, faulty as it may be? Not if all it holds are calls of our own tools.
    pub(crate) fn is_of_use(&self, offer: &Offer, kept: &[CheckedCall]) -> bool {
        let mut calls = self.calls().map(|call| &call.mended).chain(kept.iter().map(CheckedCall::call)).peekable();
        calls.peek().is_none() || calls.any(|call| !offer.is_proxys(&call.name))
    }

    /// What the dialogue needs to know; `kept` are the calls accepted earlier in the turn.
    pub(crate) fn summary(&self, offer: &Offer, kept: &[CheckedCall]) -> Judged {
        let checked = || self.calls().filter_map(|call| call.result.as_ref().ok()).chain(kept);
        let faulty = || self.calls().filter(|call| call.result.is_err());
        let proxy_calls = checked().filter(|call| offer.is_proxys(&call.call().name)).count();
        Judged {
            faulty: faulty().next().is_some(),
            faults_are_the_clients: faulty().any(|call| !offer.is_proxys(&call.mended.name)),
            client_calls: checked().count() - proxy_calls,
            proxy_calls,
        }
    }
}
