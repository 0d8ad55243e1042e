//! Extracts JSON from a text: the whole text, inside a fence, after a label, or in Python notation.

use callwright_common::limits::SHORT_BODY_BYTES;
use serde_json::Value;

/// Maximum length in bytes of a label before JSON: "Result of `get_items`:", "422 -".
const MAX_LABEL_BYTES: usize = 120;

/// Returns the JSON value in a text, if any.
pub(crate) fn json(text: &str) -> Option<Value> {
    let text = unfenced(text.trim());
    match text.as_bytes().first()? {
        b'{' | b'[' => serde_json::from_str(text).ok().or_else(|| python(text)),
        b'"' => serde_json::from_str(text).ok(),
        _ => None,
    }
}

/// Returns the JSON value after a label at the beginning of the text, and the label.
pub(crate) fn labelled(text: &str) -> Option<(&str, Value)> {
    let start = text.find(['{', '['])?;
    let (label, rest) = text.split_at_checked(start)?;
    (start <= MAX_LABEL_BYTES).then(|| json(rest)).flatten().map(|value| (label, value))
}

fn unfenced(text: &str) -> &str {
    let Some(inner) = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) else { return text };
    inner.split_once('\n').map_or(inner, |(_, body)| body).trim()
}

/// Parses a dictionary or list in Python notation. Only quotes and constants are rewritten; text that is not valid JSON
/// afterwards is not parsed.
fn python(text: &str) -> Option<Value> {
    if text.len() > SHORT_BODY_BYTES || !text.contains('\'') {
        return None;
    }
    let mut written = String::with_capacity(text.len());
    let mut quote = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (None, '\'' | '"') => {
                quote = Some(character);
                written.push('"');
            }
            (None, letter) if letter.is_ascii_alphabetic() => {
                let mut word = String::from(letter);
                while let Some(next) = characters.next_if(char::is_ascii_alphanumeric) {
                    word.push(next);
                }
                written.push_str(match word.as_str() {
                    "None" => "null",
                    "True" => "true",
                    "False" => "false",
                    other => other,
                });
            }
            (Some(open), close) if open == close => {
                quote = None;
                written.push('"');
            }
            (Some('\''), '"') => written.push_str("\\\""),
            (Some(_), '\\') if characters.next_if_eq(&'\'').is_some() => written.push('\''),
            _ => written.push(character),
        }
    }
    serde_json::from_str(&written).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_found_whole_fenced_and_in_python_notation() {
        for text in ["{\"a\": [1, null]}", "```json\n{\"a\": [1, null]}\n```", "  {\"a\":[1,null]}\n"] {
            assert_eq!(json(text), Some(json!({"a": [1, null]})), "{text}");
        }
        assert_eq!(
            json("{'a':None, 'b': \"it's\", 'c': 'so \\'it\\' is'}"),
            Some(json!({"a": null, "b": "it's", "c": "so 'it' is"}))
        );
        for text in ["", "words", "{cut", "{'a': <object>}", "17"] {
            assert_eq!(json(text), None, "{text}");
        }
    }

    #[test]
    fn a_label_may_precede_json() {
        assert_eq!(labelled("Result: {\"a\":1}"), Some(("Result: ", json!({"a": 1}))));
        assert_eq!(labelled(&format!("{} {{\"a\":1}}", "long ".repeat(60))), None);
    }
}
