//! Checks whether an earlier message contains the text of a call or names its tool. If so, the answer may quote or
//! explain it.

use crate::scanner::names::words;

/// Maximum number of bytes of earlier messages that are compared. The most recent messages take precedence.
const MAX_COMPARED: usize = 4 << 20;

/// Maximum number of calls of an answer that are searched for. The first calls take precedence.
const MAX_QUOTES: usize = 32;

/// Whether one of the `texts`, latest last, contains one of `quotes`, ignoring white space and escapes.
pub(super) fn any_in<'a>(
    quotes: impl Iterator<Item = &'a str>,
    texts: impl DoubleEndedIterator<Item = &'a str>,
) -> bool {
    let quotes: Vec<(&str, String)> = quotes
        .take(MAX_QUOTES)
        .map(|quote| (longest_word(quote), reduced(quote)))
        .filter(|(_, reduced)| !reduced.is_empty())
        .collect();
    let mut left = MAX_COMPARED;
    for text in texts.rev() {
        let Some(rest) = left.checked_sub(text.len()) else { return false };
        left = rest;
        // This check dismisses most texts before they are reduced.
        let mut candidates = quotes.iter().filter(|(word, _)| contains(text, word)).peekable();
        if candidates.peek().is_none() {
            continue;
        }
        let text = reduced(text);
        if candidates.any(|(_, quote)| contains(&text, quote)) {
            return true;
        }
    }
    false
}

fn contains(text: &str, part: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), part.as_bytes()).is_some()
}

/// Returns the longest run of ASCII letters, digits and underscores, which encodings never change.
fn longest_word(text: &str) -> &str {
    let words = text.split(|letter| !is_name_part(letter));
    words.max_by_key(|word| word.len()).unwrap_or_default()
}

/// Whether a user's message names a tool. A name of one word does not count, because it may be a word of the request.
pub(super) fn names(message: &str, tool: &str) -> bool {
    words(tool).len() > 1
        && message.match_indices(tool).any(|(at, _)| {
            let (before, after) = (message.get(..at), message.get(at + tool.len()..));
            !before.is_some_and(|text| text.ends_with(is_name_part))
                && !after.is_some_and(|text| text.starts_with(is_name_part))
        })
}

/// Whether a letter next to a name extends it. Only ASCII letters do, because scripts without spaces join a name to the
/// words around it.
fn is_name_part(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// References that HTML and JSON use for the characters of markers, with these characters.
const REFERENCES: [(&str, char); 11] = [
    ("&lt;", '<'),
    ("&gt;", '>'),
    ("&quot;", '"'),
    ("&#34;", '"'),
    ("&#39;", '\''),
    ("&apos;", '\''),
    ("&amp;", '&'),
    ("\\u003c", '<'),
    ("\\u003e", '>'),
    ("\\u003C", '<'),
    ("\\u003E", '>'),
];

/// Removes white space, backslashes and escaped line breaks, and replaces references. The result is the same for a text
/// and its quotation encoded as JSON or HTML.
fn reduced(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        if matches!(next, '&' | '\\')
            && let Some((reference, character)) = REFERENCES.iter().find(|(reference, _)| rest.starts_with(reference))
        {
            out.push(*character);
            rest = rest.get(reference.len()..).unwrap_or_default();
            continue;
        }
        let escaped_space = ["\\n", "\\t", "\\r"].into_iter().find(|escape| rest.starts_with(escape));
        let length = escaped_space.map_or(next.len_utf8(), str::len);
        if escaped_space.is_none() && !next.is_whitespace() && next != '\\' {
            out.push(next);
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_found_however_the_message_encodes_it() {
        let call = "<tool_call>\n{\"name\": \"drop_table\", \"arguments\": {\"table\": \"a b\"}}\n</tool_call>";
        let raw = format!("Page:\n{call}\nend");
        let json = serde_json::to_string(&raw).unwrap();
        let twice = serde_json::to_string(&json).unwrap();
        let html = raw.replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
        let spaced = raw.replace('\n', "\r\n    ");
        for text in [&raw, &json, &twice, &html, &spaced] {
            assert!(any_in([call].into_iter(), [text.as_str()].into_iter()), "{text}");
        }
        let other = raw.replace("a b", "c");
        assert!(!any_in([call].into_iter(), [other.as_str(), "drop_table"].into_iter()));
        assert!(!any_in([call].into_iter(), [].into_iter()));
    }

    #[test]
    fn a_tool_is_named_by_its_whole_name_where_that_is_no_single_word() {
        assert!(names("How is delete_order called?", "delete_order") && names("使用delete-order。", "delete-order"));
        assert!(!names("Search for delete_orders", "delete_order") && !names("Please search for it", "search"));
    }
}
