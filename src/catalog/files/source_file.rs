//! One file of a document, in memory.

use serde_json::Value;

use crate::domain::json::Pointer;

/// One file of a document.
pub(in super::super) struct SourceFile {
    /// The file's name, for messages and sources of documentation: of the first file its own name, of the others their way from
    /// there.
    pub(in super::super) name: String,
    /// What stands in it.
    pub(in super::super) root: Value,
}

impl SourceFile {
    pub(in super::super) fn new(name: String, root: Value) -> Self {
        Self { name, root }
    }

    /// The line, counted from 1, on which the value at `pointer` begins; `None` where it is not known.
    pub(super) fn line(&self, _pointer: &Pointer) -> Option<usize> {
        None
    }
}
