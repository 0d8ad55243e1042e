//! Collects remarks for the report while a document is processed.

use std::collections::{HashMap, HashSet};

use crate::files::ValuePosition;
use crate::report::{HiddenParameter, Simplification};

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
    pub(crate) fn remark_at(&mut self, at: &ValuePosition<'_>, what: impl std::fmt::Display) {
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
