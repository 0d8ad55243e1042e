//! Text inside a message's `content`, which is a string or an array of parts.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::fields::{ObjectFields, array, object, string};
use callwright_common::json::raw;

/// Separator between a text and the note after it.
pub(super) const SEPARATOR: &str = "\n\n";

/// Returns a part with text.
pub(super) fn text_block(text: &str) -> Box<RawValue> {
    object([("type", raw("text")), ("text", raw(text))]).to_raw()
}

/// Returns a content with a note after its text, which is `part` after a list of parts; `None` for a value of another type.
/// The note is spliced into the JSON text of a string, so that existing escapes are preserved.
pub(super) fn noted_content(content: &RawValue, note: &str, part: Box<RawValue>) -> Option<Box<RawValue>> {
    if let Some(text) = content.get().strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        let note = raw(&format!("{SEPARATOR}{note}"));
        return RawValue::from_string(format!("\"{text}{}", note.get().strip_prefix('"')?)).ok();
    }
    let mut parts: Vec<Box<RawValue>> = serde_json::from_str(content.get()).ok()?;
    parts.push(part);
    Some(raw(&parts))
}

/// Returns the text of a content: the string, or the text of its parts joined with `separator`. Returns `None` if it
/// contains no text.
pub(super) fn text_of<'a>(content: &'a RawValue, separator: &str) -> Option<Cow<'a, str>> {
    if let Some(text) = string(content) {
        return Some(text);
    }
    let parts = array(content)?;
    let texts: Vec<Cow<'_, str>> = parts.into_iter().filter_map(part_text).collect();
    match texts.len() {
        0 => None,
        1 => texts.into_iter().next(),
        _ => Some(Cow::Owned(texts.join(separator))),
    }
}

/// Returns the text of a part. A part with a string `text` is text for any `type`; so is a plain string, which some
/// servers accept.
pub(super) fn part_text(part: &RawValue) -> Option<Cow<'_, str>> {
    string(part).or_else(|| ObjectFields::parse(part.get())?.string("text"))
}

/// Returns the content with all its text replaced by `text`: a string, or for an array the other parts and one text
/// part. Returns `null` if nothing remains.
pub(super) fn with_text(content: Option<&RawValue>, text: &str) -> Box<RawValue> {
    let parts = content.and_then(array);
    let others: Vec<&RawValue> =
        parts.unwrap_or_default().into_iter().filter(|part| part_text(part).is_none()).collect();
    match (others.is_empty(), text.is_empty()) {
        (true, true) => raw(&()),
        (true, false) => raw(text),
        (false, true) => raw(&others),
        (false, false) => {
            let text = text_block(text);
            let parts: Vec<&RawValue> = others.into_iter().chain([&*text]).collect();
            raw(&parts)
        }
    }
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
    fn other_text_takes_the_place_of_a_contents_text() {
        let with = |content: &str, text| {
            let raw: Box<RawValue> = serde_json::from_str(content).unwrap();
            with_text(Some(&raw), text).get().to_owned()
        };
        assert_eq!((with(r#""a""#, "b"), with(r#""a""#, "")), (r#""b""#.to_owned(), "null".to_owned()));
        let parts = r#"[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"},"b"]"#;
        assert_eq!(with(parts, ""), r#"[{"type":"thinking","thinking":"hm"}]"#);
        assert_eq!(with(parts, "c"), r#"[{"type":"thinking","thinking":"hm"},{"type":"text","text":"c"}]"#);
        assert_eq!(with_text(None, "a").get(), r#""a""#);
    }

    #[test]
    fn content_without_text_has_none() {
        for json in ["null", "[]", "5", r#"[{"type":"image_url"}]"#, r#"[{"text":7}]"#] {
            assert_eq!(text(json), None, "{json}");
        }
    }
}
