//! What every kind of document is read into: a row of blocks, of which the deeper ones belong to the shallower one before them.

use super::heads::{self, Head};
use super::records::Record;

/// A piece of a document that no sentence and no passage crosses, or that is one by itself. Its text has whitespace folded and keeps of
/// all markup only the marks of code spans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    /// How deep it stands: a block belongs to the last one before it that is less deep.
    pub(super) depth: usize,
    /// What it is.
    pub(super) kind: Kind,
}

/// What a block is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// A heading, or what serves as one: a bold line, the summary of what can be folded.
    Heading(String),
    /// The first paragraph of a list item, or a term that is defined.
    Item(String),
    /// A paragraph.
    Prose(String),
    /// A row of a table, or an object: values with labels.
    Row(Record),
    /// Lines of code.
    Code(String),
}

/// Headings have the depths 1 to 6.
pub(super) const DEEPEST_HEADING: usize = 6;

/// The depth of a line that serves as a heading within the sections of true ones.
pub(super) const BOLD_LINE: usize = DEEPEST_HEADING + 1;

/// The depth of what stands in no list; each list around it makes it one deeper.
pub(super) const FLOW: usize = BOLD_LINE + 1;

impl Block {
    /// What the block says.
    pub(super) fn into_text(self) -> Option<String> {
        Some(match self.kind {
            Kind::Heading(text) | Kind::Item(text) | Kind::Prose(text) | Kind::Code(text) => text,
            Kind::Row(record) => record.lines().join(" "),
        })
        .filter(|text| !text.is_empty())
    }

    /// The codes or names that the block defines.
    pub(super) fn head(&self) -> Option<Head> {
        match &self.kind {
            Kind::Heading(title) => heads::of_title(title),
            Kind::Item(text) | Kind::Prose(text) => heads::of_sentence(text),
            Kind::Row(record) => record.head(),
            Kind::Code(_) => None,
        }
    }
}

/// Runs of whitespace become one space; characters that would repaint a terminal or mislead a reader are left out.
pub(super) fn folded(text: &str) -> String {
    let words = text.split(|character: char| character.is_whitespace() || character == '\0');
    let mut folded = String::with_capacity(text.len());
    for word in words.filter(|word| !word.is_empty()) {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.extend(word.chars().filter(|character| !is_unseen(*character)));
    }
    folded.truncate(folded.trim_end().len());
    folded
}

/// Controls, and marks that nobody sees: of direction, of nothing at all.
fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whitespace_is_folded_and_what_nobody_sees_is_left_out() {
        assert_eq!(folded(" a\t b\u{a0}\n\nc "), "a b c");
        assert_eq!(folded("a\0b \u{202e}\u{feff}c\u{7}"), "a b c");
        assert_eq!(folded(" \u{200b} "), "");
    }
}
