//! What the report is to say, gathered while a document is read.

use std::collections::HashSet;

use super::files::Place;
use super::report::Simplified;

/// Collects losses and guesses. A remark about a place of the document is kept once, however many operations pass there.
#[derive(Debug, Default)]
pub(super) struct Notes {
    operation: String,
    simplified: Vec<Simplified>,
    places: HashSet<String>,
}

impl Notes {
    /// The remarks that follow are about `operation`; empty: about the document.
    pub(super) fn begin(&mut self, operation: &str) {
        operation.clone_into(&mut self.operation);
    }

    /// A remark about the operation as a whole.
    pub(super) fn remark(&mut self, what: impl Into<String>) {
        self.simplified.push(Simplified { operation: self.operation.clone(), what: what.into() });
    }

    /// A remark about one place, which other operations may share.
    pub(super) fn place(&mut self, at: &Place<'_>, what: impl std::fmt::Display) {
        let what = format!("{at}: {what}");
        if self.places.insert(what.clone()) {
            self.remark(what);
        }
    }

    /// Everything that was remarked, in order.
    pub(super) fn finish(self) -> Vec<Simplified> {
        self.simplified
    }
}
