//! Normalises texts of a file: one line, without invisible characters.

/// Whether a character changes the displayed text invisibly: control characters, bidirectional overrides ("Trojan
/// Source", 2021), and noncharacters.
pub(super) fn is_hidden(character: char) -> bool {
    let turns = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_no_character = u32::from(character) & 0xfffe == 0xfffe || matches!(character, '\u{fdd0}'..='\u{fdef}');
    turns || is_no_character || character == '\u{feff}' || (character.is_control() && !character.is_whitespace())
}

/// Returns the words of a text separated by one space, so that line breaks do not matter.
pub(super) fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the text on one line without hidden characters.
pub(crate) fn tidy(text: &str) -> String {
    joined(&text.chars().filter(|character| !is_hidden(*character)).collect::<String>())
}

/// Returns the whole words of a text within the first `chars` characters, or the beginning of a single longer word.
pub(crate) fn shortened(text: &str, chars: usize) -> &str {
    let Some((end, next)) = text.char_indices().nth(chars) else { return text };
    let cut = text.get(..end).unwrap_or_default();
    if next.is_whitespace() {
        return cut.trim_end();
    }
    match cut.rfind(char::is_whitespace) {
        Some(space) => cut.get(..space).unwrap_or_default().trim_end(),
        None => cut,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_one_line_without_what_is_hidden() {
        assert_eq!(tidy(" a\r\n\tb\u{2028}c\u{0}\u{1b}[31m \u{202e}d\u{feff}\u{ffff}"), "a b c[31m d");
        assert_eq!(tidy("\u{7f}\n"), "");
        assert_eq!(tidy("日本語 ü 👍🏽"), "日本語 ü 👍🏽");
    }

    #[test]
    fn a_long_text_is_cut_between_words() {
        assert_eq!(shortened("ab cd ef", 8), "ab cd ef");
        assert_eq!(shortened("ab cd ef", 7), "ab cd");
        assert_eq!(shortened("ab cd ef", 5), "ab cd");
        assert_eq!(shortened("äöüß", 2), "äö");
        assert_eq!(shortened("", 0), "");
    }
}
