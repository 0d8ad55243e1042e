//! Reads names, types and values of a location from its JSON Schema.

use serde_json::Value;

use callwright_common::schema::resolve;

/// Maximum number of subschemas of one schema, and their maximum nesting depth. Schemas may refer to each other in
/// cycles.
const MAX_SCHEMAS: usize = 64;
const MAX_DEPTH: usize = 8;

/// Maximum number of listed values, and characters per value.
const MAX_VALUES: usize = 12;
const MAX_VALUE_CHARS: usize = 60;

/// Maximum length of a quoted pattern, in bytes.
const MAX_PATTERN_CHARS: usize = 80;

/// Returns the schema, the schemas that it references, and its alternatives.
pub(super) fn expand<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    let (mut schemas, mut pending) = (Vec::new(), vec![(schema, 0)]);
    while let Some((schema, depth)) = pending.pop() {
        if schemas.len() >= MAX_SCHEMAS {
            break;
        }
        schemas.push(schema);
        if depth >= MAX_DEPTH {
            continue;
        }
        let target = schema.get("$ref").and_then(Value::as_str).and_then(|reference| resolve(root, reference));
        let target = target.map(|(_, target)| target);
        let parts = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|keyword| schema.get(keyword)?.as_array());
        pending.extend(target.into_iter().chain(parts.flatten()).map(|schema| (schema, depth + 1)));
    }
    schemas
}

/// Returns a property of a schema, with its name as the schema spells it.
pub(super) fn property<'a>(schema: &'a Value, name: &str) -> Option<(&'a str, &'a Value)> {
    schema.get("properties")?.as_object()?.get_key_value(name).map(|(name, schema)| (name.as_str(), schema))
}

/// Returns the names of all top-level properties of a tool's schema, in schema order.
pub(super) fn parameters(root: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for schema in expand(root, root) {
        let properties = schema.get("properties").and_then(Value::as_object);
        let new = properties.into_iter().flat_map(|properties| properties.keys());
        for name in new {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
    }
    names
}

/// Returns the schema's own copy of a value as JSON, or `None` if the schema does not contain the value.
pub(super) fn own_value(schemas: &[&Value], value: &Value) -> Option<String> {
    let mut own = schemas.iter().flat_map(|schema| own_values(schema));
    // Copy the schema's text even though both values are equal.
    own.find(|own| *own == value).and_then(quoted_json)
}

fn own_values(schema: &Value) -> impl Iterator<Item = &Value> {
    let single = ["const", "default"].into_iter().filter_map(|keyword| schema.get(keyword));
    single.chain(schema.get("enum").and_then(Value::as_array).into_iter().flatten())
}

/// Formats a value as JSON; `None` if it is too long to quote.
fn quoted_json(value: &Value) -> Option<String> {
    let text = value.to_string();
    (text.chars().count() <= MAX_VALUE_CHARS).then(|| format!("`{text}`"))
}

/// Describes the schema's constraints on a value in words; `None` if there are none.
pub(super) fn constraints(schemas: &[&Value]) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(types) = first(schemas, "type").and_then(types) {
        parts.push(format!("of type {types}"));
    }
    if let Some(Value::Array(values)) = first(schemas, "enum") {
        let listed: Vec<String> = values.iter().filter_map(quoted_json).take(MAX_VALUES).collect();
        let rest = if listed.len() < values.len() { ", ..." } else { "" };
        if !listed.is_empty() {
            parts.push(format!("one of {}{rest}", listed.join(", ")));
        }
    }
    let format = first(schemas, "format").and_then(Value::as_str);
    if let Some(format) = format.filter(|format| format.len() <= MAX_VALUE_CHARS) {
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
        first(schemas, keyword).filter(|bound| bound.is_number()).map(|bound| format!("{words}{bound}"))
    }));
    let pattern = first(schemas, "pattern").and_then(Value::as_str);
    if let Some(pattern) = pattern.filter(|pattern| pattern.len() <= MAX_PATTERN_CHARS) {
        parts.push(format!("matching `{pattern}`"));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn first<'a>(schemas: &[&'a Value], keyword: &str) -> Option<&'a Value> {
    schemas.iter().find_map(|schema| schema.get(keyword))
}

/// Returns the names of the JSON Schema types among `types`.
fn types(types: &Value) -> Option<String> {
    const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];
    let types = types.as_array().map_or(std::slice::from_ref(types), Vec::as_slice);
    let names = types.iter().filter_map(|name| TYPES.into_iter().find(|other| name.as_str() == Some(other)));
    let names: Vec<&str> = names.collect();
    (!names.is_empty()).then(|| names.join(" or "))
}

/// Returns the schema author's description of the location.
pub(super) fn description<'a>(schemas: &[&'a Value]) -> Option<&'a str> {
    schemas.iter().find_map(|schema| schema.get("description")?.as_str()).filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn constraints_are_described_in_words() {
        let text = |schema: Value| constraints(&[&schema]).unwrap_or_default();
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
        assert!(text(json!({"enum": many})).ends_with("`11`, ..."));
    }

    #[test]
    fn only_values_of_the_schema_are_quoted() {
        let schema = json!({"enum": ["metric", "x".repeat(100)], "default": 5});
        assert_eq!(own_value(&[&schema], &json!("metric")).as_deref(), Some("`\"metric\"`"));
        assert_eq!(own_value(&[&schema], &json!(5)).as_deref(), Some("`5`"));
        assert_eq!(own_value(&[&schema], &json!("secret")), None);
        assert_eq!(own_value(&[&schema], &json!("x".repeat(100))), None);
    }

    #[test]
    fn expansion_of_cyclic_schemas_terminates() {
        let schema = json!({"$ref": "#", "anyOf": [{"$ref": "#"}, {"$ref": "#"}], "properties": {"a": {}}});
        assert!(expand(&schema, &schema).len() <= MAX_SCHEMAS);
        assert_eq!(parameters(&schema), ["a"]);
    }
}
