//! Gathers texts within bounds.

use std::collections::HashSet;

use super::super::document::{Document, Located};
use super::super::files::{Place, PlaceId};
use callwright_types::DocText;

/// Texts of one operation; a description of more parts than that explains nothing.
const MAX_TEXTS: usize = 400;
/// Characters of all texts of one operation. Vendors' longest are about a tenth of it.
const MAX_CHARS: usize = 200_000;

/// The texts of one operation or document.
pub(in super::super) struct Collector<'d> {
    document: &'d Document,
    texts: Vec<DocText>,
    chars_left: usize,
    /// Schemas that were looked into already, and whether they were described.
    visited: HashSet<(PlaceId, bool)>,
}

impl<'d> Collector<'d> {
    pub(in super::super) fn new(document: &'d Document) -> Self {
        Self { document, texts: Vec::new(), chars_left: MAX_CHARS, visited: HashSet::new() }
    }

    pub(in super::super) fn document(&self) -> &'d Document {
        self.document
    }

    /// The text of `holder`'s member `key`, behind `label` if that is not empty.
    pub(in super::super) fn member(&mut self, holder: &Located<'_>, key: &str, label: &str) {
        if let Some(text) = holder.text(key) {
            self.push(label, text, &holder.at.child(key));
        }
    }

    /// A text that stands at `at`, behind `label` if that is not empty.
    pub(in super::super) fn push(&mut self, label: &str, text: &str, at: &Place<'_>) {
        if self.is_full() || text.is_empty() {
            return;
        }
        let text = if label.is_empty() { text.to_owned() } else { format!("{label}: {text}") };
        let Some(left) = self.chars_left.checked_sub(text.len()) else { return };
        self.chars_left = left;
        self.texts.push(DocText { text, source: at.source() });
    }

    /// Is nothing more taken?
    pub(in super::super) fn is_full(&self) -> bool {
        self.texts.len() >= MAX_TEXTS
    }

    /// True the first time that the schema at `at` is to be described, or (not `described`) looked into.
    pub(in super::super) fn is_new(&mut self, at: &Place<'_>, described: bool) -> bool {
        self.visited.insert((at.id(), described))
    }

    pub(in super::super) fn finish(self) -> Vec<DocText> {
        self.texts
    }
}
