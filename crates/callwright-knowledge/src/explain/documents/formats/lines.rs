//! Lines within a paragraph that start a unit of their own.

use crate::explain::documents::heads;
use crate::explain::documents::labels::is_label;
use crate::explain::index::codes::CodeLikelihood;
use callwright_common::text::one_line;

/// Joins the lines of a paragraph, except where a line starts with a label (`Cause: ...`) or a code.
pub(crate) fn parts(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for line in text.split('\n').map(one_line).filter(|line| !line.is_empty()) {
        match parts.last_mut() {
            Some(last) if !begins_block(&line) => {
                last.push(' ');
                last.push_str(&line);
            }
            _ => parts.push(line),
        }
    }
    parts
}

/// Whether a line starts with a label or a code.
pub(crate) fn begins_block(line: &str) -> bool {
    let labelled = line.split_once(": ").is_some_and(|(label, _)| is_label(label));
    labelled || heads::sentence_head(line).is_some_and(|head| head.strength == CodeLikelihood::Strong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_labels_and_codes_are_parts_of_their_own() {
        let text = "Error code: 61003\nMessage: Door\njammed\nCause: ice\n61004: too heavy\nand large";
        assert_eq!(
            parts(text),
            ["Error code: 61003", "Message: Door jammed", "Cause: ice", "61004: too heavy and large"]
        );
        assert_eq!(parts("a text\nof 61003\nlines"), ["a text of 61003 lines"]);
    }
}
