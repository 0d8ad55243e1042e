//! Sentences in the description for keywords that a dialect lacks, and `$ref`s within a tool's schema.

use serde_json::{Map, Value};

use crate::schema::{DEFINITIONS, append_description, is_annotation};

/// Appends a sentence to the description of `schema`.
pub(super) fn append_sentence(schema: &mut Map<String, Value>, sentence: &str) {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    if !text.contains(sentence) {
        append_description(schema, sentence);
    }
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

/// Returns the name of the definition that `reference` targets; `None` for any other reference.
pub(super) fn name_of(reference: &str) -> Option<&str> {
    reference.strip_prefix(DEFINITIONS).filter(|name| !name.is_empty())
}

pub(super) fn reference(schema: &Map<String, Value>) -> Option<&str> {
    schema.get("$ref").and_then(Value::as_str)
}

pub(super) fn definitions(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("$defs").and_then(Value::as_object)
}

/// Merges `target` with the keywords beside its `$ref`, whose annotations take precedence because they describe this
/// use. If both sides have the same constraint keyword with different values, joins them with `allOf`.
pub(super) fn merge_siblings(target: Map<String, Value>, beside: Map<String, Value>) -> Map<String, Value> {
    let clash =
        beside.iter().any(|(key, value)| !is_annotation(key) && target.get(key).is_some_and(|own| own != value));
    if !clash {
        let mut joined = target;
        joined.extend(beside);
        return joined;
    }
    let (mut whole, constraints): (Map<String, Value>, Map<String, Value>) =
        beside.into_iter().partition(|(key, _)| is_annotation(key));
    whole.insert("allOf".to_owned(), Value::Array(vec![Value::Object(target), Value::Object(constraints)]));
    whole
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
