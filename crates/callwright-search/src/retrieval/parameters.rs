//! Text of a tool's schema.

use serde_json::Value;

/// Maximum nesting of objects that is read; deeper ones describe the API rather than its purpose.
const MAX_DEPTH: usize = 6;

/// Maximum number of bytes of text.
const MAX_BYTES: usize = 16 * 1024;

/// Returns names and descriptions of the parameters in a JSON Schema as one text.
pub fn parameters_text(schema: &Value) -> String {
    let mut text = String::new();
    gather(schema, MAX_DEPTH, &mut text);
    text
}

fn gather(schema: &Value, depth: usize, text: &mut String) {
    if depth == 0 || text.len() >= MAX_BYTES {
        return;
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        push(name, text);
        push(property.get("description").and_then(Value::as_str).unwrap_or_default(), text);
        gather(property, depth - 1, text);
    }
    if let Some(items) = schema.get("items") {
        gather(items, depth - 1, text);
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let branches = schema.get(keyword).and_then(Value::as_array);
        branches.into_iter().flatten().for_each(|branch| gather(branch, depth - 1, text));
    }
}

fn push(words: &str, text: &mut String) {
    let room = MAX_BYTES.saturating_sub(text.len());
    let end = (0..=words.len().min(room)).rev().find(|end| words.is_char_boundary(*end)).unwrap_or_default();
    if let Some(words) = words.get(..end).filter(|words| !words.is_empty()) {
        text.push_str(words);
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_and_descriptions_of_all_levels_are_gathered() {
        let schema = json!({"type": "object", "properties": {
            "city": {"type": "string", "description": "The city's name."},
            "days": {"type": "array", "items": {"properties": {"date": {"description": "A day."}}}},
        }, "allOf": [{"properties": {"unit": {"enum": ["C", "F"]}}}]});
        assert_eq!(parameters_text(&schema), "city\nThe city's name.\ndays\ndate\nA day.\nunit\n");
        assert_eq!(parameters_text(&json!(["no", "schema"])), "");
    }

    #[test]
    fn deep_and_large_schemas_are_bounded() {
        let deep = (0..100).fold(json!({}), |inner, level| json!({"properties": {format!("p{level}"): inner}}));
        assert_eq!(parameters_text(&deep).lines().count(), MAX_DEPTH);
        let large = json!({"properties": {"a": {"description": "ä".repeat(MAX_BYTES)}, "b": {"description": "x".repeat(MAX_BYTES)}}});
        assert!(parameters_text(&large).len() <= MAX_BYTES + 3);
    }
}
