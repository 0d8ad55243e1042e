//! Report on the conversion of a document. Its JSON form is the output of `callwright check --format json`, one
//! document per line.

pub(crate) mod advice;
pub(crate) mod notes;

use serde::Serialize;
use serde_json::Value;

/// The report on one document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The document as given to the loader.
    pub file: String,
    /// Number of operations that became tools.
    pub operations_loaded: usize,
    /// SkippedOperation operations with their reasons. Together with `operations_loaded` they cover the whole document.
    pub operations_skipped: Vec<SkippedOperation>,
    /// Tools whose name differs from their `operationId`.
    pub renamed: Vec<RenamedTool>,
    /// Parts of the document that were converted with a loss or an assumption.
    pub simplified: Vec<Simplification>,
    /// Reason why the whole document could not be loaded; `None` on success.
    pub error: Option<String>,
    /// Advice to the document's author; only a [`review`](crate::review()) produces it.
    pub advice: Vec<Advice>,
    /// Parameters that models are not offered.
    pub hidden: Vec<HiddenParameter>,
}

/// An operation that was not converted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedOperation {
    /// Method and path: `GET /pets/{petId}`.
    pub operation: String,
    /// The fault and its position.
    pub reason: String,
}

/// A tool whose name is not its `operationId`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RenamedTool {
    /// Method and path: `GET /pets/{petId}`.
    pub operation: String,
    /// The `operationId`; `None` if the document gives none.
    pub from: Option<String>,
    /// The tool's name.
    pub to: String,
}

/// A part of a document that was converted with a loss or an assumption.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Simplification {
    /// Method and path; empty for the whole document.
    pub operation: String,
    /// The loss or assumption, and its position.
    pub what: String,
}

/// A parameter that is not an argument of the tools: requests have a fixed value, a credential, or nothing for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HiddenParameter {
    /// The parameter's name.
    pub parameter: String,
    /// Its location: `path`, `query`, `header`, `cookie` or `body`.
    #[serde(rename = "in")]
    pub location: &'static str,
    /// The value that every request has; `None` if none is fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The reason, with the source of a convention.
    pub reason: String,
    /// Methods and paths of the operations.
    pub operations: Vec<String>,
}

/// One piece of advice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// Code of the rule that gives the advice.
    pub code: &'static str,
    /// Method and path of the operation, the first if there are several; empty for the whole document.
    pub operation: String,
    /// File, line and JSON Pointer of the part to change.
    pub at: String,
    /// Describes the information that a model lacks.
    pub message: String,
    /// The change to make; the same text for all advice of one rule.
    pub fix: &'static str,
}

impl HiddenParameter {
    pub(crate) fn new(parameter: &str, location: &'static str, value: Option<Value>, reason: String) -> Self {
        Self { parameter: parameter.to_owned(), location, value, reason, operations: Vec::new() }
    }
}

impl Report {
    /// Creates the report on a document that could not be loaded.
    pub fn of_failure(file: impl Into<String>, error: impl ToString) -> Self {
        Self { file: file.into(), error: Some(error.to_string()), ..Self::default() }
    }
}
