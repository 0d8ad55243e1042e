//! What became of a document's operations. The shape is what `callwright check --format json` prints, one document a line.

use serde::Serialize;

use super::{Advice, Operation};

/// The report on one document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The document, as it was named to the loader.
    pub file: String,
    /// How many operations became tools.
    pub operations_loaded: usize,
    /// The operations that did not, each with its reason. `operations_loaded` and these make up the whole document.
    pub operations_skipped: Vec<Skipped>,
    /// The tools that do not bear their `operationId` as name.
    pub renamed: Vec<Renamed>,
    /// What was understood with a loss or a guess.
    pub simplified: Vec<Simplified>,
    /// Why the document as a whole could not be loaded; `None` where it could.
    pub error: Option<String>,
    /// What would make models use the operations better; only a [`review`](super::review()) looks for it.
    pub advice: Vec<Advice>,
}

/// An operation that became no tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Method and path: `GET /pets/{petId}`.
    pub operation: String,
    /// What is wrong and where.
    pub reason: String,
}

/// A tool whose name is not its `operationId`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Renamed {
    /// Method and path: `GET /pets/{petId}`.
    pub operation: String,
    /// The `operationId`; `None` where the document gives none.
    pub from: Option<String>,
    /// The tool's name.
    pub to: String,
}

/// A place of a document that was understood with a loss or a guess.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Simplified {
    /// Method and path; empty where the whole document is meant.
    pub operation: String,
    /// What was lost or assumed, and where.
    pub what: String,
}

impl Report {
    /// The report on a document that could not be loaded at all.
    pub fn of_failure(file: impl Into<String>, error: impl ToString) -> Self {
        Self { file: file.into(), error: Some(error.to_string()), ..Self::default() }
    }
}

impl Renamed {
    /// What there is to tell about the name of this operation's tool; nothing where it is the `operationId`.
    pub(super) fn of(operation: &Operation) -> Option<Self> {
        let to = &operation.tool.name;
        (operation.operation_id.as_ref() != Some(to)).then(|| Self {
            operation: operation.label(),
            from: operation.operation_id.clone(),
            to: to.clone(),
        })
    }
}
