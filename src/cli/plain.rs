//! Escaping of untrusted text for the terminal.

use std::fmt::Write as _;

use callwright_common::text::acts_on_terminal;

/// Maximum number of characters shown of one text.
const MAX_CHARS: usize = 500;

/// Returns `text` on one line, cut to [`MAX_CHARS`] characters, with characters that act on the terminal escaped.
pub(super) fn text(text: &str) -> String {
    let mut plain = String::new();
    for (position, c) in text.chars().enumerate() {
        if position == MAX_CHARS {
            plain.push('…');
            break;
        }
        match c {
            '\n' | '\r' | '\t' => plain.push(' '),
            c if acts_on_terminal(c) => plain.extend(c.escape_unicode()),
            c => plain.push(c),
        }
    }
    plain
}

/// Returns a text of several lines in full, with other characters that act on the terminal escaped.
pub(super) fn lines(text: &str) -> String {
    let mut plain = String::new();
    for c in text.chars() {
        match c {
            c if c != '\n' && acts_on_terminal(c) => plain.extend(c.escape_unicode()),
            c => plain.push(c),
        }
    }
    plain
}

/// Escapes characters that act on a terminal in JSON. Such characters occur only within strings, where JSON has an
/// escape (RFC 8259, section 7); ASCII control characters are always escaped already.
pub(super) fn json(json: String) -> String {
    let mut plain = String::new();
    for c in json.chars() {
        match c {
            // All of them have at most four hexadecimal digits; writing to a string cannot fail.
            c if acts_on_terminal(c) => drop(write!(plain, "\\u{:04x}", u32::from(c))),
            c => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_spelled_out_and_lines_joined() {
        assert_eq!(text("a\u{1b}[31mred\u{9b}0m\u{7f}"), "a\\u{1b}[31mred\\u{9b}0m\\u{7f}");
        assert_eq!(text("one\r\ntwo\tthree"), "one  two three");
        assert_eq!(text("user\u{202e}nimda\u{2066}"), "user\\u{202e}nimda\\u{2066}");
        assert_eq!(text("Zürich 取得 🏔"), "Zürich 取得 🏔");
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(text(&"é".repeat(MAX_CHARS)).chars().count(), MAX_CHARS);
        let cut = text(&"é".repeat(MAX_CHARS + 1));
        assert_eq!((cut.chars().count(), cut.ends_with('…')), (MAX_CHARS + 1, true));
    }

    #[test]
    fn json_means_the_same_afterwards() {
        let value = serde_json::json!({"a\u{9b}": "\u{1b}[0m\u{7f}\u{202e}ü"});
        let plain = json(value.to_string());
        assert!(!plain.contains(acts_on_terminal), "{plain}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&plain).unwrap(), value);
    }
}
