//! Answer as counted by a replay, either judged again or as recorded.

use callwright_judge::repair::JudgedMessage;
use callwright_types::rules::Mode;
use callwright_types::trace::Attempt;
use callwright_types::{Diagnosis, FaultCode, Purpose, RepairKind, Trace, Verdict};

/// Tool name of an answer that intended a call and contains none.
pub(super) const NO_CALL: &str = "(no call)";

/// Answer of a model.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ReplayedAnswer {
    /// Calls; a single [`NO_CALL`] if a call was intended and is missing.
    pub(super) calls: Vec<CountedCall>,
    /// Position of its attempt within the turn.
    pub(super) attempt: usize,
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct CountedCall {
    /// Tool name, as written by the model.
    pub(super) tool: String,
    /// Repairs that the policy would make.
    pub(super) repairs: Vec<RepairKind>,
    /// Faults that remain after the repairs.
    pub(super) codes: Vec<FaultCode>,
    /// Faults that the policy would only note.
    pub(super) noted: Vec<FaultCode>,
}

impl ReplayedAnswer {
    /// Creates an answer from a judgement.
    pub(super) fn judged(message: JudgedMessage, attempt: usize) -> Self {
        let mut calls: Vec<CountedCall> = Vec::new();
        if let Some(diagnosis) = &message.no_call {
            calls.push(CountedCall::meant(vec![diagnosis.code]));
        }
        calls.extend(message.calls.into_iter().map(|call| CountedCall {
            tool: call.made.name,
            repairs: call.repairs.iter().map(|repair| repair.kind).collect(),
            codes: call.result.err().into_iter().flatten().map(|diagnosis| diagnosis.code).collect(),
            noted: call.advice.iter().map(|diagnosis| diagnosis.code).collect(),
        }));
        Self { calls, attempt }
    }
}

impl CountedCall {
    /// Creates a call that was intended and is missing.
    pub(super) fn meant(codes: Vec<FaultCode>) -> Self {
        Self { tool: NO_CALL.to_owned(), codes, ..Self::default() }
    }
}

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
