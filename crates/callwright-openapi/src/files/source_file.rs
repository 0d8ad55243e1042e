//! One file of a document in memory, and positions in it: file, pointer and line.

use std::collections::HashMap;
use std::fmt;
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

/// Position of a value in a document. Displayed as `pets.yaml:12 #/paths/~1pets`. The line is determined only when the
/// position is displayed.
#[derive(Clone)]
pub(crate) struct ValuePosition<'d> {
    file: &'d SourceFile,
    pointer: Pointer,
}

/// Identity of a position. Two positions of one document have equal identities if and only if they are the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ValuePositionId {
    /// Memory address of the file, which does not move while a document is processed.
    file: usize,
    pointer: Pointer,
}

impl<'d> ValuePosition<'d> {
    pub(crate) fn new(file: &'d SourceFile, pointer: Pointer) -> Self {
        Self { file, pointer }
    }

    /// Returns the position of the whole `file`.
    pub(crate) fn root(file: &'d SourceFile) -> Self {
        Self::new(file, Pointer::root())
    }

    /// Returns the file of the position, against which a relative `$ref` is resolved.
    pub(crate) fn file(&self) -> &'d SourceFile {
        self.file
    }

    /// Returns the JSON Pointer of the position within its file.
    pub(crate) fn pointer(&self) -> &Pointer {
        &self.pointer
    }

    /// Returns the position of the member `key`.
    pub(crate) fn child(&self, key: &str) -> Self {
        Self { file: self.file, pointer: self.pointer.child(key) }
    }

    /// Returns the position of the item at `index`.
    pub(crate) fn item(&self, index: usize) -> Self {
        Self { file: self.file, pointer: self.pointer.item(index) }
    }

    /// Returns the identity of the position.
    pub(crate) fn id(&self) -> ValuePositionId {
        ValuePositionId { file: std::ptr::from_ref(self.file).addr(), pointer: self.pointer.clone() }
    }

    /// Returns file and pointer without the line: `pets.yaml#/paths/~1pets`. Used as source of documentation texts,
    /// because lines change when text is inserted before them.
    pub(crate) fn source(&self) -> String {
        format!("{}#{}", self.file.name, self.pointer)
    }
}

impl PartialEq for ValuePosition<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.file, other.file) && self.pointer == other.pointer
    }
}

impl Eq for ValuePosition<'_> {}

impl fmt::Display for ValuePosition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.file.line(&self.pointer) {
            Some(line) => write!(f, "{}:{line} #{}", self.file.name, self.pointer),
            None => write!(f, "{} #{}", self.file.name, self.pointer),
        }
    }
}

impl fmt::Debug for ValuePosition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source())
    }
}
