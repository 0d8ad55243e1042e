//! Quoting of names, values and foreign text in messages.
//!
//! API responses, documents and model output are data. They are quoted, and cannot end the quotation
//! themselves.

use std::borrow::Cow;

use minijinja::value::Value;

use callwright_common::limits::{LINE_CHARS, VALUE_LENGTH};
use callwright_common::text::excerpt;
use callwright_scanner::schema::MAX_LISTED;

/// Formats `text` as inline code: in backticks, shortened, without line breaks and backticks of its own.
pub(super) fn code(text: &str) -> String {
    format!("`{}`", excerpt(text, LINE_CHARS).replace('`', "'"))
}

/// Formats several texts as inline code.
pub(super) fn codes(texts: &[String]) -> String {
    let listed = texts.iter().take(MAX_LISTED).map(|text| code(text)).collect::<Vec<_>>().join(", ");
    match texts.len().saturating_sub(MAX_LISTED) {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}

/// Maximum number of parameters or faults that one message describes; it states how many more faults there are.
pub(super) const MAX_DESCRIBED: usize = 8;

/// Quotes foreign text within a line: in double quotes, shortened, without line breaks and double quotes of its own.
pub(super) fn said(text: &str) -> String {
    format!("\"{}\"", excerpt(text, LINE_CHARS).replace('"', "'"))
}

/// Formats a clause that quotes values itself: shortened, without line breaks, and without backticks, which mark the
/// proxy's quotes.
pub(super) fn line(text: &str) -> String {
    excerpt(text, VALUE_LENGTH).replace('`', "'")
}

/// Replaces control characters except tabs and line breaks, because messages are also printed to terminals.
pub(super) fn printable(text: &str) -> Cow<'_, str> {
    if text.contains(is_terminal_control) { text.replace(is_terminal_control, "\u{fffd}").into() } else { text.into() }
}

fn is_terminal_control(letter: char) -> bool {
    letter.is_control() && !matches!(letter, '\t' | '\n' | '\r')
}

/// Returns `text` with each run of whitespace replaced with a single space.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Name in the opening and closing marks of quoted data.
const MARK: &str = "data";

/// Formats foreign text as a block between `<data>` and `</data>`. Escapes such marks inside (`<` becomes `&lt;`) and
/// replaces control characters ([`printable`]).
pub(super) fn data(text: &str) -> String {
    let mut block = String::with_capacity(text.len() + 16);
    block.push_str("<data>\n");
    let text = printable(text.trim());
    let mut rest = &*text;
    while let Some(at) = rest.find('<') {
        let (before, from) = rest.split_at(at);
        block.push_str(before);
        let inner = from.get(1..).unwrap_or_default();
        block.push_str(if opens_mark(inner) { "&lt;" } else { "<" });
        rest = inner;
    }
    block.push_str(rest);
    block.push_str("\n</data>");
    block
}

fn opens_mark(text: &str) -> bool {
    let name = text.trim_start_matches(|letter: char| !letter.is_alphanumeric());
    name.get(..MARK.len()).is_some_and(|name| name.eq_ignore_ascii_case(MARK))
}

/// Formats the requirements for a value as a clause: `string, one of "a", "b" ("The unit.")`.
pub(super) fn described(description: &Value) -> String {
    let more = description.get_attr("more_options").ok().and_then(|more| i64::try_from(more).ok()).unwrap_or(0);
    let options = texts(description, "options");
    let mut clause = text(description, "types");
    if !options.is_empty() {
        clause.push_str(if options.len() == 1 && more == 0 { ", only " } else { ", one of " });
        clause.push_str(&line(&options.join(", ")));
    }
    if more > 0 {
        clause.push_str(&format!(" and {more} more"));
    }
    for rule in texts(description, "rules") {
        clause.push_str(&format!(", {}", line(&rule)));
    }
    let quoted = text(description, "description");
    if !quoted.is_empty() {
        clause.push_str(&format!(" ({})", said(&quoted)));
    }
    clause
}

fn text(description: &Value, name: &str) -> String {
    description.get_attr(name).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn texts(description: &Value, name: &str) -> Vec<String> {
    let list = description.get_attr(name).ok().and_then(|list| list.try_iter().ok());
    list.map(|list| list.map(|item| item.to_string()).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_stays_in_its_line_and_its_backticks() {
        assert_eq!(code("a`b\nc"), "`a'b c`");
        assert!(code(&"x".repeat(1000)).chars().count() < 210);
        assert_eq!(said("say \"so\"\n\"now\""), "\"say 'so' 'now'\"");
        assert_eq!(line("a `b`\nc"), "a 'b' c");
        for quoted in [said(&"x".repeat(10_000)), line(&"x".repeat(10_000)), codes(&vec!["x".repeat(10); 1000])] {
            assert!(quoted.len() < 1100, "{quoted}");
        }
        assert!(codes(&vec![String::new(); 1000]).ends_with(" and 970 more"));
    }

    #[test]
    fn quoted_text_cannot_end_its_quotation() {
        for text in
            ["a</data>b", "a</DATA >b", "a< / data>b", "a<data>b", "a<\u{0}/data>b", "a<\u{200b}/data>b", "<</data>"]
        {
            let block = data(text);
            let inner = block.strip_prefix("<data>\n").unwrap().strip_suffix("\n</data>").unwrap();
            let letters: String = inner.to_lowercase().chars().filter(|letter| !letter.is_whitespace()).collect();
            assert!(!letters.contains("</data") && !letters.contains("<data"), "{block}");
        }
        assert_eq!(data("<p>1 < 2</p> <date>"), "<data>\n<p>1 < 2</p> <date>\n</data>");
    }

    #[test]
    fn a_description_reads_as_a_clause() {
        let described_as = |value: serde_json::Value| described(&Value::from(minijinja::value::Serde(value)));
        let unit = serde_json::json!({ "types": "string", "options": ["\"c\"", "\"f\""], "more_options": 0, "description": "The unit." });
        assert_eq!(described_as(unit), "string, one of \"c\", \"f\" (\"The unit.\")");
        let ruled = serde_json::json!({ "types": "integer", "rules": ["minimum 1", "maximum 8"], "description": "" });
        assert_eq!(described_as(ruled), "integer, minimum 1, maximum 8");
        let bare = serde_json::json!({ "types": "integer", "options": [], "more_options": 0, "description": "" });
        assert_eq!(described_as(bare), "integer");
    }
}
