//! Collects documentation texts within limits.

use std::collections::HashSet;

use crate::{LocatedValue, ValuePosition};
use callwright_types::DocText;

/// Maximum number of texts of one operation.
const MAX_TEXTS: usize = 400;
/// Maximum size of all texts of one operation, in bytes. The longest ones of vendors are about a tenth of it.
const MAX_CHARS: usize = 200_000;

/// The texts of one operation or document.
#[derive(Default)]
pub(crate) struct DocTextCollector {
    texts: Vec<DocText>,
    chars: usize,
    /// Addresses of the schemas already visited, which do not move while a document is processed, each with a flag
    /// whether it was described.
    visited: HashSet<(usize, bool)>,
}

impl DocTextCollector {
    /// Adds the string member `key` of `holder`, prefixed with `label` if that is not empty.
    pub(crate) fn member(&mut self, holder: &LocatedValue<'_>, key: &str, label: &str) {
        if let Some(text) = holder.text(key) {
            self.push(label, text, &holder.at.child(key));
        }
    }

    /// Adds a text that is at `at`, prefixed with `label` if that is not empty.
    pub(crate) fn push(&mut self, label: &str, text: &str, at: &ValuePosition<'_>) {
        if self.is_full() || text.is_empty() {
            return;
        }
        let text = if label.is_empty() { text.to_owned() } else { format!("{label}: {text}") };
        if self.chars + text.len() > MAX_CHARS {
            return;
        }
        self.chars += text.len();
        self.texts.push(DocText { text, source: at.source() });
    }

    /// Whether the maximum number of texts is reached.
    pub(crate) fn is_full(&self) -> bool {
        self.texts.len() >= MAX_TEXTS
    }

    /// Whether the schema is visited for the first time, separately for visits that describe it (`described`) and
    /// visits that do not.
    pub(crate) fn is_new(&mut self, schema: &LocatedValue<'_>, described: bool) -> bool {
        self.visited.insert((std::ptr::from_ref(schema.value).addr(), described))
    }

    pub(crate) fn finish(self) -> Vec<DocText> {
        self.texts
    }
}
