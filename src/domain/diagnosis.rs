//! One fault found in a call.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fault::FaultCode;
use super::json::Pointer;

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
