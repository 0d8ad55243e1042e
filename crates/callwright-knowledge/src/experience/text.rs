//! Normalises and shortens the texts of lessons.

use crate::text::beginning;

/// Collapses whitespace to single spaces and removes invisible characters: controls and bidirectional formatting.
pub(super) fn tidy(text: &str) -> String {
    let visible: String = text.chars().filter(|character| !is_invisible(*character)).collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_invisible(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
        || (character.is_control() && !character.is_whitespace())
}

/// Returns the leading whole words within `chars` characters; a single longer word is cut.
pub(super) fn shortened(text: &str, chars: usize) -> &str {
    match crate::text::shortened(text, chars) {
        kept if kept.len() < text.len() => kept.trim_end_matches([',', ';']),
        whole => whole,
    }
}

/// Number of leading characters that are searched for the first sentence. A client's description may have any length.
const MAX_SENTENCE_CHARS: usize = 4_096;

/// Returns the first sentence of a text without its full stop, in at most `chars` characters.
pub(super) fn first_sentence(text: &str, chars: usize) -> String {
    let text = tidy(beginning(text, MAX_SENTENCE_CHARS));
    let end = text.find(". ").unwrap_or(text.len());
    let sentence = text.get(..end).unwrap_or_default().trim_end_matches('.');
    shortened(sentence, chars).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_shortened_between_words() {
        assert_eq!(shortened("ab, cd, ef", 7), "ab, cd");
        assert_eq!(shortened("abcdef", 3), "abc");
        assert_eq!(shortened("ab", 3), "ab");
        assert_eq!(shortened("äö ü", 3), "äö");
    }

    #[test]
    fn first_sentence_ends_at_its_full_stop() {
        assert_eq!(first_sentence("Books a\n room. For v1.2 only.", 80), "Books a room");
        assert_eq!(first_sentence("Version 1.2 of it.", 80), "Version 1.2 of it");
        assert_eq!(first_sentence("a\u{202e}b\u{0}c", 80), "abc");
    }
}
