//! Text of a value that may contain markup.

use super::markdown::markdown;
use crate::explain::documents::blocks::DocumentBlock;
use crate::explain::documents::records::joined;
use callwright_common::text::one_line;

/// Returns the text of a value that may contain Markdown or HTML, in one line.
pub(crate) fn inline_text(text: &str) -> String {
    let is_marked = text.contains(['<', '[', '*', '&', '\\', '#', '\n']);
    if !is_marked {
        return one_line(text);
    }
    let texts: Vec<String> = markdown(text).into_iter().filter_map(DocumentBlock::into_text).collect();
    joined(&texts)
}
