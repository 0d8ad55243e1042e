//! The text inside a message's `content`, which is a string or an array of parts.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::fields::{Fields, string};

/// The text of a content: the string, or the text of its parts joined with `separator`. `None` where it holds no text at all.
pub(super) fn text_of<'a>(content: &'a RawValue, separator: &str) -> Option<Cow<'a, str>> {
    if let Some(text) = string(content) {
        return Some(text);
    }
    let parts: Vec<&RawValue> = serde_json::from_str(content.get()).ok()?;
    let texts: Vec<Cow<'_, str>> = parts.into_iter().filter_map(part_text).collect();
    match texts.len() {
        0 => None,
        1 => texts.into_iter().next(),
        _ => Some(Cow::Owned(texts.join(separator))),
    }
}

/// Parts with a string `text` are text whatever their `type` is called; so are plain strings, which some servers accept.
fn part_text(part: &RawValue) -> Option<Cow<'_, str>> {
    string(part).or_else(|| Fields::parse(part.get())?.string("text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str) -> Option<String> {
        let raw: Box<RawValue> = serde_json::from_str(json).unwrap();
        text_of(&raw, "\n").map(Cow::into_owned)
    }

    #[test]
    fn strings_and_text_parts_are_text() {
        assert_eq!(text(r#""a\tb""#).as_deref(), Some("a\tb"));
        let parts = r#"[{"type":"text","text":"one"},{"type":"image_url","image_url":{"url":"data:"}},{"type":"text","text":"two"},"x"]"#;
        assert_eq!(text(parts).as_deref(), Some("one\ntwo\nx"));
    }

    #[test]
    fn content_without_text_has_none() {
        for json in ["null", "[]", "5", r#"[{"type":"image_url"}]"#, r#"[{"text":7}]"#] {
            assert_eq!(text(json), None, "{json}");
        }
    }
}
