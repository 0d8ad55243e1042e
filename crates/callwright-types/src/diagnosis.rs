//! A diagnosis: one fault found in a call.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fault::FaultCode;
use callwright_common::json::Pointer;

/// The E1 reasons for an answer that is either a call or a text about one, and for one with more calls than can be read.
const UNSURE: [&str; 2] = ["unsure", "unfinished"];

/// One fault found in a call: code, place, facts, suggestion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// Code of the fault.
    pub code: FaultCode,
    /// Index of the faulty call among the calls of the answer.
    pub call: usize,
    /// JSON Pointer into the call's arguments (RFC 6901); empty for the call as a whole.
    pub path: Pointer,
    /// One human-readable line: what is wrong and where.
    pub message: String,
    /// Facts that the fault's rule established, under the names that the feedback template uses.
    pub facts: Value,
    /// The name or value that would fix the fault, if the scan is confident enough to suggest one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub suggestion: Option<String>,
}

impl Diagnosis {
    /// Creates the diagnosis of a call as a whole.
    pub fn new(code: FaultCode, call: usize, message: impl Into<String>, facts: Value) -> Self {
        Self { code, call, path: Pointer::root(), message: message.into(), facts, suggestion: None }
    }

    /// Returns the reason why no call could be parsed from an answer (E1). `None` for any other fault, and for
    /// arguments that
    /// are not an object.
    pub fn reason(&self) -> Option<&str> {
        let reason = self.facts.get("reason")?.as_str()?;
        (self.code == FaultCode::NoCall).then_some(reason)
    }

    /// Whether the answer is not known to be a call and is neither repaired nor refused (E1, reasons `unsure` and
    /// `unfinished`).
    pub fn is_unsure(&self) -> bool {
        self.reason().is_some_and(|reason| UNSURE.contains(&reason))
    }
}
