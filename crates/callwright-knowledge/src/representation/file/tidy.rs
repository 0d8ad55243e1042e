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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tidy_text_is_one_line_without_hidden_characters() {
        assert_eq!(one_line(" a\r\n\tb\u{2028}c\u{0}\u{1b}[31m \u{202e}d\u{feff}\u{ffff}"), "a b c[31m d");
        assert_eq!(one_line("\u{7f}\n"), "");
        assert_eq!(one_line("日本語 ü 👍🏽"), "日本語 ü 👍🏽");
    }
}
