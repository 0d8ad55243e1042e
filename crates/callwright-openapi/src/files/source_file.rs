//! One file of a document, in memory.

use std::collections::HashMap;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::Value;
use url::Url;

use super::super::parse::{Lines, Parsed, Syntax};
use super::address::Address;
use callwright_common::json::Pointer;

/// One file of a document.
pub(in super::super) struct SourceFile {
    /// What the file is called in messages and sources of documentation: of the first file its own name, of the others their way from
    /// there, or their URL.
    pub(in super::super) name: String,
    /// What stands in it.
    pub(in super::super) root: Value,
    pub(super) address: Address,
    /// Empty where lines are not known.
    text: String,
    syntax: Syntax,
    /// What had to be mended in it.
    pub(super) remarks: Vec<String>,
    lines: OnceLock<Lines>,
    /// Where the references that begin with such a link (a reference without its fragment) lead: the file's number, or why it is not there.
    pub(super) links: HashMap<String, Result<usize, String>>,
}

impl SourceFile {
    /// A file that was understood as `parsed`; without a text, lines are not known.
    pub(super) fn new(name: String, address: Address, parsed: Parsed) -> Self {
        let Parsed { value: root, text, syntax, remarks } = parsed;
        Self { name, root, address, text, syntax, remarks, lines: OnceLock::new(), links: HashMap::new() }
    }

    /// A file that stands for itself, with no text.
    #[cfg(test)]
    pub(in super::super) fn of_value(root: Value) -> Self {
        let parsed = Parsed { value: root, text: String::new(), syntax: Syntax::Json, remarks: Vec::new() };
        Self::new("api.json".to_owned(), Address::of_path(Path::new("api.json")), parsed)
    }

    /// Where the file was found, if it is remote.
    pub(in super::super) fn url(&self) -> Option<&Url> {
        match &self.address {
            Address::Url(url) => Some(url),
            Address::Path(_) => None,
        }
    }

    /// Where the file stands, if it is local.
    pub(in super::super) fn path(&self) -> Option<&Path> {
        match &self.address {
            Address::Path(path) => Some(path),
            Address::Url(_) => None,
        }
    }

    /// The line, counted from 1, on which the value at `pointer` begins; `None` where it is not known. The first question costs a pass
    /// over the text.
    pub(super) fn line(&self, pointer: &Pointer) -> Option<usize> {
        self.lines.get_or_init(|| Lines::of(&self.text, self.syntax)).line(pointer)
    }
}
