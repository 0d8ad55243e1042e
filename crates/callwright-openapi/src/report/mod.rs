//! Report on the conversion of a document. Its JSON form is the output of `callwright check --format json`, one
//! document per line.

pub(crate) mod advice;

use std::collections::{HashMap, HashSet};
use std::fmt::Display;

use serde::Serialize;
use serde_json::Value;

use crate::ValuePosition;

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
    /// Advice to the document's author; only a [review](crate::reviewed()) produces it.
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

/// Collector of losses and guesses. A remark about a position in the document is recorded once, even if several
/// operations share the position.
#[derive(Debug, Default)]
pub(crate) struct LoadNotes {
    operation: String,
    simplified: Vec<Simplification>,
    /// Whether each remark is about a position.
    has_position: Vec<bool>,
    /// The remarks about positions.
    positioned: HashSet<String>,
    /// Number of remarks, including repetitions.
    count: usize,
    hidden: Vec<HiddenParameter>,
    /// Indexes of `hidden` by everything except the operations.
    hidden_index: HashMap<String, usize>,
}

impl LoadNotes {
    /// Sets the operation to which the following remarks belong; empty: the whole document.
    pub(crate) fn begin(&mut self, operation: &str) {
        operation.clone_into(&mut self.operation);
    }

    /// Adds a remark about the current operation.
    pub(crate) fn remark(&mut self, what: impl Into<String>) {
        self.count += 1;
        self.push(what.into(), false);
    }

    fn push(&mut self, what: String, has_position: bool) {
        self.simplified.push(Simplification { operation: self.operation.clone(), what });
        self.has_position.push(has_position);
    }

    /// Adds a remark about one position, which several operations may share.
    pub(crate) fn remark_at(&mut self, at: &ValuePosition<'_>, what: impl Display) {
        self.count += 1;
        let what = format!("{at}: {what}");
        if self.positioned.insert(what.clone()) {
            self.push(what, true);
        }
    }

    /// Adds a parameter of the current operation that is not offered.
    pub(crate) fn hide(&mut self, mut hidden: HiddenParameter) {
        hidden.operations.push(self.operation.clone());
        self.merge_hidden(hidden);
    }

    fn merge_hidden(&mut self, hidden: HiddenParameter) {
        let HiddenParameter { parameter, location, value, reason, .. } = &hidden;
        let key = serde_json::json!([parameter, location, value, reason]).to_string();
        let index = *self.hidden_index.entry(key).or_insert(self.hidden.len());
        match self.hidden.get_mut(index) {
            Some(merged) => merged.operations.extend(hidden.operations),
            None => self.hidden.push(hidden),
        }
    }

    /// Adds the remarks of a later part of the document.
    pub(crate) fn append(&mut self, later: Self) {
        for (simplified, has_position) in later.simplified.into_iter().zip(later.has_position) {
            if !has_position || self.positioned.insert(simplified.what.clone()) {
                self.has_position.push(has_position);
                self.simplified.push(simplified);
            }
        }
        for hidden in later.hidden {
            self.merge_hidden(hidden);
        }
    }

    /// Returns the number of remarks so far, including repetitions about one position.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Returns the remarks and the hidden parameters, in order.
    pub(crate) fn finish(self) -> (Vec<Simplification>, Vec<HiddenParameter>) {
        (self.simplified, self.hidden)
    }
}
