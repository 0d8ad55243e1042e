//! Answer as counted by a replay, either judged again or as recorded.

use callwright_judge::repair::JudgedMessage;
use callwright_types::{FaultCode, RepairKind};

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

/// Call of an answer.
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
