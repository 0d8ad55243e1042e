//! A place in a document: file, pointer and line.

use std::fmt;

use super::SourceFile;
use callwright_common::json::Pointer;

/// Where a value of a document stands. As text it is what people look for: `pets.yaml:12 #/paths/~1pets`. The line is looked up when
/// the text is asked for.
#[derive(Clone)]
pub(in super::super) struct Place<'d> {
    file: &'d SourceFile,
    pointer: Pointer,
}

/// What two places have in common if and only if they are the same place of one document.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in super::super) struct PlaceId {
    /// The file's address, because files do not move while a document is read.
    file: usize,
    pointer: Pointer,
}

impl<'d> Place<'d> {
    pub(in super::super) fn new(file: &'d SourceFile, pointer: Pointer) -> Self {
        Self { file, pointer }
    }

    /// The whole of `file`.
    pub(in super::super) fn root(file: &'d SourceFile) -> Self {
        Self::new(file, Pointer::root())
    }

    /// The file that the place is in: what a relative `$ref` that stands there starts from.
    pub(in super::super) fn file(&self) -> &'d SourceFile {
        self.file
    }

    /// The place within its file.
    pub(in super::super) fn pointer(&self) -> &Pointer {
        &self.pointer
    }

    /// The place of the member `key`.
    pub(in super::super) fn child(&self, key: &str) -> Self {
        Self { file: self.file, pointer: self.pointer.child(key) }
    }

    /// The place of the item at `index`.
    pub(in super::super) fn item(&self, index: usize) -> Self {
        Self { file: self.file, pointer: self.pointer.item(index) }
    }

    /// What this place is remembered by.
    pub(in super::super) fn id(&self) -> PlaceId {
        PlaceId { file: std::ptr::from_ref(self.file).addr(), pointer: self.pointer.clone() }
    }

    /// File and pointer without line, for sources of documentation, which shall not change with every line that is added before
    /// them: `pets.yaml#/paths/~1pets`.
    pub(in super::super) fn source(&self) -> String {
        format!("{}#{}", self.file.name, self.pointer)
    }
}

impl PartialEq for Place<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.file, other.file) && self.pointer == other.pointer
    }
}

impl Eq for Place<'_> {}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.file.line(&self.pointer) {
            Some(line) => write!(f, "{}:{line} #{}", self.file.name, self.pointer),
            None => write!(f, "{} #{}", self.file.name, self.pointer),
        }
    }
}

impl fmt::Debug for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source())
    }
}
