//! Reads names, types and values of a location from its JSON Schema.

use serde_json::Value;

use callwright_common::limits::{LISTED, WORD_CHARS};
use callwright_common::schema::{LocalSchema, Views};

/// Schemas of a value in a tool's arguments.
pub(super) type Schemas<'a> = Views<'a, LocalSchema<'a>>;

/// Returns the names of all top-level properties of a tool's schema, in schema order.
pub(super) fn parameters(root: &Value) -> Vec<&str> {
    names(&Views::new(LocalSchema::root(root)))
}

/// Returns the names of the properties, each once.
pub(super) fn names<'a>(schemas: &Schemas<'a>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in schemas.properties() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Returns the schema's own copy of a value as JSON, or `None` if the schema does not contain the value.
pub(super) fn own_value(schemas: &Schemas<'_>, value: &Value) -> Option<String> {
    let single = ["const", "default"].into_iter().flat_map(|keyword| schemas.values(keyword));
    // Copy the schema's text even though both values are equal.
    single.chain(schemas.items_of("enum")).find(|own| *own == value).and_then(quoted_json)
}

/// Formats a value as JSON; `None` if it is too long to quote.
fn quoted_json(value: &Value) -> Option<String> {
    let text = value.to_string();
    (text.chars().count() <= WORD_CHARS).then(|| format!("`{text}`"))
}

/// Describes the schema's constraints on a value in words; `None` if there are none.
pub(super) fn constraints(schemas: &Schemas<'_>) -> Option<String> {
    let first = |keyword: &str| schemas.values(keyword).next();
    let mut parts = Vec::new();
    if let Some(types) = first("type").and_then(types) {
        parts.push(format!("of type {types}"));
    }
    if let Some(Value::Array(values)) = first("enum") {
        let listed: Vec<String> = values.iter().filter_map(quoted_json).take(LISTED).collect();
        let rest = if listed.len() < values.len() { ", ..." } else { "" };
        if !listed.is_empty() {
            parts.push(format!("one of {}{rest}", listed.join(", ")));
        }
    }
    let format = first("format").and_then(Value::as_str);
    if let Some(format) = format.filter(|format| format.len() <= WORD_CHARS) {
        parts.push(format!("in the format {format}"));
    }
    let bounds = [
        ("minimum", "at least "),
        ("exclusiveMinimum", "above "),
        ("maximum", "at most "),
        ("exclusiveMaximum", "below "),
        ("multipleOf", "a multiple of "),
        ("minLength", "of at least this many characters: "),
        ("maxLength", "of at most this many characters: "),
        ("minItems", "of at least this many items: "),
        ("maxItems", "of at most this many items: "),
    ];
    parts.extend(bounds.into_iter().filter_map(|(keyword, words)| {
        first(keyword).filter(|bound| bound.is_number()).map(|bound| format!("{words}{bound}"))
    }));
    let pattern = first("pattern").and_then(Value::as_str);
    if let Some(pattern) = pattern.filter(|pattern| pattern.len() <= WORD_CHARS) {
        parts.push(format!("matching `{pattern}`"));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Returns the names of the JSON Schema types among `types`.
fn types(types: &Value) -> Option<String> {
    const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];
    let types = types.as_array().map_or(std::slice::from_ref(types), Vec::as_slice);
    let names = types.iter().filter_map(|name| TYPES.into_iter().find(|other| name.as_str() == Some(other)));
    let names: Vec<&str> = names.collect();
    (!names.is_empty()).then(|| names.join(" or "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schemas(schema: &Value) -> Schemas<'_> {
        Views::new(LocalSchema::root(schema))
    }

    #[test]
    fn constraints_are_described_in_words() {
        let text = |schema: Value| constraints(&schemas(&schema)).unwrap_or_default();
        assert_eq!(
            text(json!({"type": "integer", "minimum": 1, "maximum": 9})),
            "of type integer, at least 1, at most 9"
        );
        assert_eq!(
            text(json!({"type": ["string", "null"], "format": "date"})),
            "of type string or null, in the format date"
        );
        assert_eq!(text(json!({"enum": ["a", 1]})), "one of `\"a\"`, `1`");
        assert_eq!(text(json!({"type": "anything", "pattern": 1})), "");
        let many: Vec<usize> = (0..20).collect();
        assert!(text(json!({"enum": many})).ends_with("`9`, ..."));
    }

    #[test]
    fn only_values_of_the_schema_are_quoted() {
        let schema = json!({"enum": ["metric", "x".repeat(100)], "default": 5});
        assert_eq!(own_value(&schemas(&schema), &json!("metric")).as_deref(), Some("`\"metric\"`"));
        assert_eq!(own_value(&schemas(&schema), &json!(5)).as_deref(), Some("`5`"));
        assert_eq!(own_value(&schemas(&schema), &json!("secret")), None);
        assert_eq!(own_value(&schemas(&schema), &json!("x".repeat(100))), None);
    }

    #[test]
    fn expansion_of_cyclic_schemas_terminates() {
        let schema = json!({"$ref": "#", "anyOf": [{"$ref": "#"}, {"$ref": "#"}], "properties": {"a": {}}});
        assert_eq!(parameters(&schema), ["a"]);
    }

    #[test]
    fn parameters_behind_many_alternatives_are_listed() {
        let branches: Vec<Value> = (0..100).map(|at| json!({"properties": {format!("p{at}"): {}}})).collect();
        assert_eq!(parameters(&json!({ "anyOf": branches })).len(), 100);
    }
}
