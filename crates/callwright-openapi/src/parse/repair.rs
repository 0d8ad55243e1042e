//! Repairs common faults in texts without changing line numbers.

use super::lines::end_of_string;

/// Replaces comments (`//`, `/* */`, `#` at the start of a line) and commas before a closing bracket by spaces.
pub(super) fn without_comments(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut at = 0;
    // Offset of the last comma, if only whitespace has followed it.
    let mut comma = None;
    let mut begins_line = true;
    while let Some(byte) = bytes.get(at).copied() {
        let length = match (byte, bytes.get(at + 1)) {
            (b'"', _) => end_of_string(&bytes, at + 1) - at,
            (b'/', Some(b'/')) => blank_to(&mut bytes, at, b"\n"),
            (b'#', _) if begins_line => blank_to(&mut bytes, at, b"\n"),
            (b'/', Some(b'*')) => blank_to(&mut bytes, at, b"*/"),
            _ => 1,
        };
        let is_blank = bytes.get(at).is_some_and(u8::is_ascii_whitespace);
        match byte {
            _ if is_blank => {}
            b',' => comma = Some(at),
            b'}' | b']' => {
                if let Some(comma) = comma.take().and_then(|comma| bytes.get_mut(comma)) {
                    *comma = b' ';
                }
            }
            _ => comma = None,
        }
        begins_line = byte == b'\n' || is_blank && begins_line;
        at += length;
    }
    // Only whole characters were replaced, by ASCII spaces, so the text is still valid UTF-8.
    String::from_utf8(bytes).unwrap_or_default()
}

/// Overwrites the comment that begins at `start` with spaces up to and including `end`; line ends are kept. Returns
/// the length of the comment.
fn blank_to(bytes: &mut [u8], start: usize, end: &[u8]) -> usize {
    let comment = bytes.get_mut(start..).unwrap_or_default();
    let found = memchr::memmem::find(comment.get(2..).unwrap_or_default(), end);
    let length = found.map_or(comment.len(), |found| found + 2 + end.len()).min(comment.len());
    for byte in comment.iter_mut().take(length).filter(|byte| **byte != b'\n') {
        *byte = b' ';
    }
    length
}

/// Replaces each tab in the indentation of a line by `width` spaces. Returns `None` if no line has such a tab.
pub(super) fn with_spaces_for_tabs(text: &str, width: usize) -> Option<String> {
    if !text.split('\n').any(|line| line.trim_start_matches(' ').starts_with('\t')) {
        return None;
    }
    let lines = text.split('\n').map(|line| {
        let content = line.trim_start_matches([' ', '\t']);
        let indent = line.get(..line.len() - content.len()).unwrap_or_default();
        indent.replace('\t', &" ".repeat(width)) + content
    });
    Some(lines.collect::<Vec<_>>().join("\n"))
}

/// Replaces characters that YAML does not allow (YAML 1.2.2, section 5.1) by spaces. Returns `None` if there are
/// none.
pub(super) fn without_controls(text: &str) -> Option<String> {
    text.contains(is_refused).then(|| text.replace(is_refused, " "))
}

fn is_refused(c: char) -> bool {
    c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{85}') || matches!(c, '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_last_commas_become_spaces_and_strings_stay() {
        for (text, expected) in [
            ("{\"a\": 1, // c\n}", "{\"a\": 1      \n}"),
            ("[1, /* ü\n , */ 2,\n]", "[1,      \n      2 \n]"),
            ("# c\n[\"//\", \"#\", \"\\\"/*\",]", "   \n[\"//\", \"#\", \"\\\"/*\" ]"),
            ("[1,,2]", "[1,,2]"),
            ("[\"a,\"]", "[\"a,\"]"),
            ("[1, /* open", "[1,        "),
            ("\"open", "\"open"),
            ("\"\\", "\"\\"),
            ("[1, 2] // end", "[1, 2]       "),
        ] {
            assert_eq!(without_comments(text), expected, "{text}");
        }
    }

    #[test]
    fn hostile_texts_take_linear_time() {
        for piece in ["/", "/*", "//", "\"", ",", "#", "[,", "/*/", "\\"] {
            assert_eq!(without_comments(&piece.repeat(200_000)).len(), piece.len() * 200_000);
        }
    }

    #[test]
    fn tabs_and_characters_that_yaml_forbids_become_spaces() {
        assert_eq!(with_spaces_for_tabs("a:\n\tb:\t1\n \t c: \t2", 2).unwrap(), "a:\n  b:\t1\n    c: \t2");
        assert_eq!(with_spaces_for_tabs("a:\t1\n", 2), None);
        assert_eq!(without_controls("a\u{0}b\u{b}\tc\r\n").unwrap(), "a b \tc\r\n");
        assert_eq!(without_controls("a\tb\r\n"), None);
    }
}
