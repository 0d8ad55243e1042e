//! Common document model: a sequence of blocks in which deeper blocks belong to the preceding shallower block.

use super::heads::{self, PassageHead};
use super::records::LabelledRecord;

/// Unit of a document that no sentence or passage crosses. Its text has collapsed whitespace and no markup except the
/// backquotes of code spans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DocumentBlock {
    /// Nesting depth: a block belongs to the last preceding block with a smaller depth.
    pub(crate) depth: usize,
    /// Kind and content of the block.
    pub(crate) kind: BlockKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BlockKind {
    /// Heading, or its equivalent: a bold line, or the summary of a collapsible section.
    Heading(String),
    /// First paragraph of a list item, or a defined term.
    Item(String),
    Prose(String),
    /// Row of a table, or an object: values with labels.
    Row(LabelledRecord),
    Code(String),
}

/// Minimum number of neighbours of the same form (rows, assignments, texts that begin with codes) that are a list.
pub(crate) const LEAST_SERIES: usize = 3;

/// Maximum depth of a heading; headings have the depths 1 to 6.
pub(crate) const DEEPEST_HEADING: usize = 6;

/// Depth of a bold line that serves as a heading inside a section.
pub(crate) const BOLD_LINE: usize = DEEPEST_HEADING + 1;

/// Depth of text outside lists; each enclosing list adds one.
pub(crate) const FLOW: usize = BOLD_LINE + 1;

impl DocumentBlock {
    /// Returns the text of the block, if it has any.
    pub(crate) fn into_text(self) -> Option<String> {
        Some(match self.kind {
            BlockKind::Heading(text) | BlockKind::Item(text) | BlockKind::Prose(text) | BlockKind::Code(text) => text,
            BlockKind::Row(record) => record.lines().join(" "),
        })
        .filter(|text| !text.is_empty())
    }

    /// Returns the codes or names that the block defines.
    pub(crate) fn head(&self) -> Option<PassageHead> {
        match &self.kind {
            BlockKind::Heading(title) => heads::title_head(title),
            BlockKind::Item(text) | BlockKind::Prose(text) => heads::sentence_head(text),
            BlockKind::Row(record) => record.head(),
            BlockKind::Code(_) => None,
        }
    }
}
