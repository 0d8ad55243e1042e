//! Collects remarks for the report while a document is processed.

use std::collections::HashSet;

use super::files::ValuePosition;
use super::report::Simplified;

/// Collector of losses and guesses. A remark about a place of the document is recorded once, even if several
/// operations share the place.
#[derive(Debug, Default)]
pub(super) struct LoadNotes {
    operation: String,
    simplified: Vec<Simplified>,
    places: HashSet<String>,
}

impl LoadNotes {
    /// Sets the operation to which the following remarks belong; empty: the whole document.
    pub(super) fn begin(&mut self, operation: &str) {
        operation.clone_into(&mut self.operation);
    }

    /// Adds a remark about the current operation.
    pub(super) fn remark(&mut self, what: impl Into<String>) {
        self.simplified.push(Simplified { operation: self.operation.clone(), what: what.into() });
    }

    /// Adds a remark about one place, which several operations may share.
    pub(super) fn place(&mut self, at: &ValuePosition<'_>, what: impl std::fmt::Display) {
        let what = format!("{at}: {what}");
        if self.places.insert(what.clone()) {
            self.remark(what);
        }
    }

    /// Returns all remarks in order.
    pub(super) fn finish(self) -> Vec<Simplified> {
        self.simplified
    }
}
