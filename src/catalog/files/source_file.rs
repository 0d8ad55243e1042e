//! One file of a document, in memory.

use std::collections::HashMap;
#[cfg(test)]
use std::path::Path;
use std::sync::OnceLock;

use serde_json::Value;
use url::Url;

use super::super::parse::{Lines, Syntax};
use super::address::Address;
use crate::domain::json::Pointer;

/// One file of a document.
pub(in super::super) struct SourceFile {
    /// What the file is called in messages and sources of documentation: of the first file its own name, of the others their way from
    /// there, or their URL.
    pub(in super::super) name: String,
    /// What stands in it.
    pub(in super::super) root: Value,
    pub(super) address: Address,
    text: Option<(String, Syntax)>,
    lines: OnceLock<Lines>,
    /// Where the references that begin with such a link (a reference without its fragment) lead: the file's number, or why it is not there.
    pub(super) links: HashMap<String, Result<usize, String>>,
}

impl SourceFile {
    /// A file that was read as `text`; without one, lines are not known.
    pub(super) fn new(name: String, address: Address, root: Value, text: Option<(String, Syntax)>) -> Self {
        Self { name, root, address, text, lines: OnceLock::new(), links: HashMap::new() }
    }

    /// A file that stands for itself, with no text.
    #[cfg(test)]
    pub(in super::super) fn of_value(root: Value) -> Self {
        Self::new("api.json".to_owned(), Address::of_path(Path::new("api.json")), root, None)
    }

    /// Where the file was found, if it is remote.
    pub(in super::super) fn url(&self) -> Option<&Url> {
        match &self.address {
            Address::Url(url) => Some(url),
            Address::Path(_) => None,
        }
    }

    /// The line, counted from 1, on which the value at `pointer` begins; `None` where it is not known. The first question costs a pass
    /// over the text.
    pub(super) fn line(&self, pointer: &Pointer) -> Option<usize> {
        let (text, syntax) = self.text.as_ref()?;
        self.lines.get_or_init(|| Lines::of(text, *syntax)).line(pointer)
    }
}
