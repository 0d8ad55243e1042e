//! One fault found in a call.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fault::FaultCode;
use callwright_common::json::Pointer;

/// The reason of E1 for an answer that may be a call and may be about one.
const UNSURE: &str = "unsure";

/// One fault found in a call: code, place, facts, suggestion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// Which fault.
    pub code: FaultCode,
    /// Index of the faulty call among the calls of the answer.
    pub call: usize,
    /// Place inside the call's arguments (RFC 6901); empty for the call as a whole.
    pub path: Pointer,
    /// One line that a person can read: what is wrong and where.
    pub message: String,
    /// What the fault's rule established, under the names that its feedback template uses.
    pub facts: Value,
    /// The name or value that would mend it, where the scan is sure enough to say one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub suggestion: Option<String>,
}

impl Diagnosis {
    /// Why no call could be read from an answer (E1); `None` for any other fault, and for arguments that are no object.
    pub fn reason(&self) -> Option<&str> {
        let reason = self.facts.get("reason")?.as_str()?;
        (self.code == FaultCode::NoCall).then_some(reason)
    }

    /// Whether an answer may be a call and may be about one (E1, reason `unsure`).
    pub fn is_unsure(&self) -> bool {
        self.reason() == Some(UNSURE)
    }
}
