//! Blocks of a document → passages: entries of catalogues, and neighbouring sentences of prose.

mod entry;
mod joiner;
pub(crate) mod outline;
pub(crate) mod sentences;

use callwright_common::text::beginning;

/// Passage before indexing: a few neighbouring sentences, or an entry of a catalogue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Text for display.
    pub(crate) text: String,
    /// Codes and names that it defines, in normal form.
    pub(crate) defines: Vec<String>,
    /// Codes and names that it mentions, in normal form.
    pub(crate) mentions: Vec<String>,
}

/// Whether the text has more than `limit` characters.
fn exceeds(text: &str, limit: usize) -> bool {
    text.chars().nth(limit).is_some()
}

/// Splits a text of more than `limit` characters at the last space before the limit, or at the limit if there is none.
fn cut(text: &str, limit: usize) -> (&str, &str) {
    let hard = beginning(text, limit).len();
    let soft = text[..hard].rfind(char::is_whitespace).filter(|at| *at > 0).unwrap_or(hard);
    (text[..soft].trim_end(), text[soft..].trim_start())
}
