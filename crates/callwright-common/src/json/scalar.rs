//! Scalars as text.

use serde_json::Value;

/// Returns a string unchanged and a number in JSON notation; `None` for any other value.
pub fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn strings_and_numbers_have_a_text() {
        assert_eq!(scalar_text(&json!("a\"b")).as_deref(), Some("a\"b"));
        assert_eq!(scalar_text(&json!(3.0)).as_deref(), Some("3.0"));
        for value in [json!(null), json!(true), json!([1]), json!({"a": 1})] {
            assert_eq!(scalar_text(&value), None, "{value}");
        }
    }
}
