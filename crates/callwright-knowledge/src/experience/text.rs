//! Normalises and shortens the texts of lessons.

/// Collapses whitespace to single spaces and removes invisible characters: controls and bidirectional formatting.
pub(super) fn tidy(text: &str) -> String {
    let hidden = |character: &char| {
        matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
            || (character.is_control() && !character.is_whitespace())
    };
    let seen: String = text.chars().filter(|character| !hidden(character)).collect();
    seen.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the leading whole words within `chars` characters; a single longer word is cut.
pub(super) fn shortened(text: &str, chars: usize) -> &str {
    let Some((end, next)) = text.char_indices().nth(chars) else { return text };
    let cut = text.get(..end).unwrap_or_default();
    let kept = match cut.rfind(char::is_whitespace) {
        Some(space) if !next.is_whitespace() => cut.get(..space).unwrap_or_default(),
        _ => cut,
    };
    kept.trim_end().trim_end_matches([',', ';'])
}

/// Number of leading characters that are searched for the first sentence. A client's description may have any length.
const MAX_SENTENCE_CHARS: usize = 4_096;

/// Returns the first sentence of a text without its full stop, in at most `chars` characters.
pub(super) fn first_sentence(text: &str, chars: usize) -> String {
    let end = text.char_indices().nth(MAX_SENTENCE_CHARS).map_or(text.len(), |(end, _)| end);
    let text = tidy(text.get(..end).unwrap_or_default());
    let end = text.find(". ").unwrap_or(text.len());
    let sentence = text.get(..end).unwrap_or_default().trim_end_matches('.');
    shortened(sentence, chars).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_words() {
        assert_eq!(shortened("ab, cd, ef", 7), "ab, cd");
        assert_eq!(shortened("abcdef", 3), "abc");
        assert_eq!(shortened("ab", 3), "ab");
        assert_eq!(shortened("äö ü", 3), "äö");
    }

    #[test]
    fn a_sentence_ends_at_its_full_stop() {
        assert_eq!(first_sentence("Books a\n room. For v1.2 only.", 80), "Books a room");
        assert_eq!(first_sentence("Version 1.2 of it.", 80), "Version 1.2 of it");
        assert_eq!(first_sentence("a\u{202e}b\u{0}c", 80), "abc");
    }
}
