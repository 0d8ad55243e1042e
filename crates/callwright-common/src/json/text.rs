//! Text of scalars, and JSON in the text of a model.

use serde_json::Value;
use serde_json::value::RawValue;

/// Returns a string unchanged and a number in JSON notation; `None` for any other value.
pub fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Whether the text is one JSON object by the grammar of RFC 8259. It may hold what a parsed [`Value`] cannot: numbers
/// beyond the range of a double, lone surrogates, and any nesting.
pub fn is_object_text(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<&RawValue>(text).is_ok()
}

/// Returns the text without a leading `<think>` block and without an enclosing Markdown fence.
pub fn bare(text: &str) -> &str {
    let text = text.trim();
    let text = match text.strip_prefix("<think>").and_then(|rest| rest.split_once("</think>")) {
        Some((_, rest)) => rest.trim(),
        None => text,
    };
    let Some(fenced) = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) else { return text };
    match fenced.split_once('\n') {
        Some((language, rest)) if language.trim().chars().all(char::is_alphanumeric) => rest.trim(),
        _ => fenced.trim(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn thoughts_and_a_fence_are_taken_off_and_nothing_else() {
        for text in
            ["[1]", " [1]\n", "```json\n[1]\n```", "```\n[1]```", "```[1]```", "<think>[] ?</think>```\n[1]\n```"]
        {
            assert_eq!(bare(text), "[1]", "{text}");
        }
        for text in ["", "<think>[1]", "see: ```[1]```", "```[1]"] {
            assert_eq!(bare(text), text);
        }
    }

    #[test]
    fn an_object_is_json_whatever_its_values_are() {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(5_000), "]".repeat(5_000));
        let huge = format!("{{\"n\":{}}}", "7".repeat(700));
        for text in ["{}", " {\"a\": 1e400}\n", "{\"a\":\"\\ud83d\"}", deep.as_str(), huge.as_str()] {
            assert!(is_object_text(text), "{text}");
        }
        for text in
            ["", "[]", "1", "{'a':1}", "{\"a\":01}", "{\"a\":\"\\ud8\"}", "{}{}", "{\"a\":1,}", "{\"a\":\"\n\"}"]
        {
            assert!(!is_object_text(text), "{text}");
        }
    }

    #[test]
    fn strings_and_numbers_have_a_text() {
        assert_eq!(scalar_text(&json!("a\"b")).as_deref(), Some("a\"b"));
        assert_eq!(scalar_text(&json!(3.0)).as_deref(), Some("3.0"));
        for value in [json!(null), json!(true), json!([1]), json!({"a": 1})] {
            assert_eq!(scalar_text(&value), None, "{value}");
        }
    }
}
