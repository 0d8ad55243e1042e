//! One file of a document in memory.

use std::collections::HashMap;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::Value;
use url::Url;

use super::address::Address;
use crate::parse::{LineIndex, ParsedText, Syntax};
use callwright_common::json::Pointer;

/// One file of a document.
pub(crate) struct SourceFile {
    /// Name in messages and documentation sources: the main file's own name, for other files the path relative to it,
    /// or the URL.
    pub(crate) name: String,
    /// Content of the file.
    pub(crate) root: Value,
    pub(super) address: Address,
    /// Empty if lines are not available.
    text: String,
    syntax: Syntax,
    /// Repairs that the file's text needed.
    pub(super) remarks: Vec<String>,
    lines: OnceLock<LineIndex>,
    /// Targets of links (references without fragment): the index of the file, or the reason why it is not available.
    pub(super) links: HashMap<String, Result<usize, String>>,
}

impl SourceFile {
    /// Creates a file from `parsed`; without a text, lines are not available.
    pub(super) fn new(name: String, address: Address, parsed: ParsedText) -> Self {
        let ParsedText { value: root, text, syntax, remarks } = parsed;
        Self { name, root, address, text, syntax, remarks, lines: OnceLock::new(), links: HashMap::new() }
    }

    /// Creates a stand-alone file without a text.
    #[cfg(test)]
    pub(crate) fn of_value(root: Value) -> Self {
        let parsed = ParsedText { value: root, text: String::new(), syntax: Syntax::Json, remarks: Vec::new() };
        Self::new("api.json".to_owned(), Address::of_path(Path::new("api.json")), parsed)
    }

    /// Returns the URL of the file if it is remote.
    pub(crate) fn url(&self) -> Option<&Url> {
        match &self.address {
            Address::Url(url) => Some(url),
            Address::Path(_) => None,
        }
    }

    /// Returns the path of the file if it is local.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.address {
            Address::Path(path) => Some(path),
            Address::Url(_) => None,
        }
    }

    /// Returns the line, counted from 1, on which the value at `pointer` begins; `None` if it is not available. The
    /// first call scans the text once.
    pub(super) fn line(&self, pointer: &Pointer) -> Option<usize> {
        self.lines.get_or_init(|| LineIndex::new(&self.text, self.syntax)).line(pointer)
    }
}
