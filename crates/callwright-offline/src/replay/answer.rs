//! An answer as it is counted: the same whether it was judged again or when it was recorded.

use callwright_judge::repair::JudgedMessage;
use callwright_types::{FaultCode, RepairKind};

/// Stands for the tool of an answer that meant to call and holds no call.
pub(super) const NO_CALL: &str = "(no call)";

/// One answer of a model.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Answer {
    /// Its calls; one of [`NO_CALL`] where a call was meant and none is there.
    pub(super) calls: Vec<CountedCall>,
    /// Position of its attempt among those of the turn.
    pub(super) attempt: usize,
}

/// One call of it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct CountedCall {
    /// The tool, as the model named it.
    pub(super) tool: String,
    /// What would have been repaired.
    pub(super) repairs: Vec<RepairKind>,
    /// What is wrong with it after that.
    pub(super) codes: Vec<FaultCode>,
    /// What would only have been noted.
    pub(super) noted: Vec<FaultCode>,
}

impl Answer {
    /// An answer that was judged now.
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
    /// A call that was meant and is not there.
    pub(super) fn meant(codes: Vec<FaultCode>) -> Self {
        Self { tool: NO_CALL.to_owned(), codes, ..Self::default() }
    }
}
