//! Shortens the texts of lessons.

use callwright_common::limits::TEXT_LENGTH;
use callwright_common::text::{beginning, one_line};

/// Returns the leading whole words within `chars` characters; a single longer word is cut.
pub(super) fn shortened(text: &str, chars: usize) -> &str {
    match callwright_common::text::shortened(text, chars) {
        kept if kept.len() < text.len() => kept.trim_end_matches([',', ';']),
        whole => whole,
    }
}

/// Returns the first sentence of a text without its full stop, in at most `chars` characters.
pub(super) fn first_sentence(text: &str, chars: usize) -> String {
    let text = one_line(beginning(text, TEXT_LENGTH));
    let sentence = callwright_common::text::first_sentence(&text).trim_end_matches('.');
    shortened(sentence, chars).to_owned()
}
