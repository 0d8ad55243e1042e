//! Sentences in the description for keywords that a dialect lacks.

use serde_json::{Map, Value};

/// Appends a sentence to the description of `schema`.
pub(super) fn append_sentence(schema: &mut Map<String, Value>, sentence: &str) {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    if text.contains(sentence) {
        return;
    }
    let text = if text.is_empty() { sentence.to_owned() } else { format!("{text}\n{sentence}") };
    schema.insert("description".to_owned(), text.into());
}

/// Formats a keyword as a sentence: `Format: uri.`
pub(super) fn sentence(keyword: &str, value: &Value) -> String {
    let label = match keyword {
        "format" => "Format",
        "pattern" => "Matches the regular expression",
        "default" => "Default",
        "examples" => "Examples",
        "minProperties" => "Least number of members",
        "maxProperties" => "Largest number of members",
        "contentEncoding" => "Encoding",
        "contentMediaType" => "Media type",
        "uniqueItems" => return "No item twice.".to_owned(),
        "deprecated" => return "Deprecated.".to_owned(),
        other => other,
    };
    format!("{label}: {}.", plain(value))
}

/// Formats a string without quotation marks, an array as a list, and any other value as JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(Value::to_string).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sentences_are_appended_to_the_description_once() {
        let mut schema = json!({"description": "A page."}).as_object().unwrap().clone();
        for (keyword, value) in [("format", json!("uri")), ("examples", json!(["a", 2])), ("format", json!("uri"))] {
            let sentence = sentence(keyword, &value);
            append_sentence(&mut schema, &sentence);
        }
        assert_eq!(schema["description"], "A page.\nFormat: uri.\nExamples: \"a\", 2.");
    }
}
