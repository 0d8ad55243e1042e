//! The answers of a trace as they were judged when it was recorded.

use super::answer::{Answer, CountedCall};
use callwright_types::rules::Mode;
use callwright_types::trace::Attempt;
use callwright_types::{Diagnosis, FaultCode, Trace, Verdict};

/// Purposes of attempts whose answers are counted.
const BEFORE_FEEDBACK: [&str; 2] = ["first", "tool_results"];

/// The attempts whose answers are counted, with their positions.
pub(super) fn counted_attempts(trace: &Trace) -> impl Iterator<Item = (usize, &Attempt)> {
    let attempts = trace.attempts.iter().enumerate();
    attempts.filter(|(_, attempt)| BEFORE_FEEDBACK.contains(&attempt.purpose.as_str()))
}

/// The answers as they were judged then; `None` where none was.
pub(super) fn recorded(trace: &Trace) -> Option<Vec<Answer>> {
    if trace.mode == Mode::Off.label() {
        return None;
    }
    let judged = |attempt: &Attempt| attempt.verdict.is_some_and(|verdict| verdict != Verdict::Unguarded);
    let answers = counted_attempts(trace).filter(|(_, attempt)| judged(attempt));
    let answers: Vec<Answer> = answers.map(|(position, attempt)| recorded_answer(attempt, position)).collect();
    (!answers.is_empty()).then_some(answers)
}

/// One answer as it was judged then. Of an answer with several choices, calls of the same number are not told apart.
pub(super) fn recorded_answer(attempt: &Attempt, position: usize) -> Answer {
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
    Answer { calls, attempt: position }
}

fn codes_of(call: usize, found: &[Diagnosis]) -> Vec<FaultCode> {
    found.iter().filter(|diagnosis| diagnosis.call == call).map(|diagnosis| diagnosis.code).collect()
}
