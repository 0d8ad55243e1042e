//! Text of a value that may contain markup.

use super::markdown::markdown;
use crate::explain::blocks::{DocumentBlock, folded};
use crate::explain::records::joined;

/// Returns the text of a value that may contain Markdown or HTML, in one line.
pub(super) fn inline_text(text: &str) -> String {
    let is_marked = text.contains(['<', '[', '*', '&', '\\', '#', '\n']);
    if !is_marked {
        return folded(text);
    }
    let texts: Vec<String> = markdown(text).into_iter().filter_map(DocumentBlock::into_text).collect();
    joined(&texts)
}
