//! Answers of a trace with their recorded judgement.

use super::answer::{CountedCall, ReplayedAnswer};
use callwright_types::rules::Mode;
use callwright_types::trace::Attempt;
use callwright_types::{Diagnosis, FaultCode, Purpose, Trace, Verdict};

/// Purposes of attempts whose answers are counted.
const BEFORE_FEEDBACK: [Purpose; 2] = [Purpose::First, Purpose::ToolResults];

/// Returns the counted attempts with their positions.
pub(super) fn counted_attempts(trace: &Trace) -> impl Iterator<Item = (usize, &Attempt)> {
    let attempts = trace.attempts.iter().enumerate();
    attempts.filter(|(_, attempt)| BEFORE_FEEDBACK.contains(&attempt.purpose))
}

/// Returns the answers with their recorded judgement; `None` if none was judged.
pub(super) fn recorded(trace: &Trace) -> Option<Vec<ReplayedAnswer>> {
    if trace.mode == Mode::Off {
        return None;
    }
    let answers = counted_attempts(trace)
        .filter(|(_, attempt)| attempt.verdict.is_some_and(|verdict| verdict != Verdict::Unguarded));
    let answers: Vec<ReplayedAnswer> = answers.map(|(position, attempt)| recorded_answer(attempt, position)).collect();
    (!answers.is_empty()).then_some(answers)
}

/// Returns an answer with its recorded judgement. Calls with the same number in several choices are not distinguished.
pub(super) fn recorded_answer(attempt: &Attempt, position: usize) -> ReplayedAnswer {
    let mut calls: Vec<CountedCall> = attempt
        .calls
        .iter()
        .enumerate()
        .map(|(index, call)| CountedCall {
            tool: call.name.clone(),
            repairs: attempt.repairs.iter().filter(|repair| repair.call == index).map(|repair| repair.kind).collect(),
            codes: codes_of(index, &attempt.diagnoses),
            noted: codes_of(index, &attempt.advice),
        })
        .collect();
    if calls.is_empty() && !attempt.diagnoses.is_empty() {
        calls.push(CountedCall::meant(attempt.diagnoses.iter().map(|found| found.code).collect()));
    }
    ReplayedAnswer { calls, attempt: position }
}

fn codes_of(call: usize, found: &[Diagnosis]) -> Vec<FaultCode> {
    found.iter().filter(|diagnosis| diagnosis.call == call).map(|diagnosis| diagnosis.code).collect()
}
