//! Determines the types of a schema, because a strict schema must name them.

use serde_json::{Map, Value};

use crate::schema::is_annotation;
use crate::tool::text::distinct;

/// Keywords that apply to objects only.
pub(super) const OF_OBJECTS: [&str; 3] = ["properties", "required", "additionalProperties"];
/// Keywords that apply to arrays only.
pub(super) const OF_ARRAYS: [&str; 3] = ["items", "minItems", "maxItems"];

/// Returns the types that `schema` accepts, derived from `type`, from its values, or from keywords of one type only.
/// Returns an empty list if it accepts any type.
pub(super) fn types(schema: &Map<String, Value>) -> Vec<String> {
    match schema.get("type") {
        Some(Value::String(name)) => return vec![name.clone()],
        Some(Value::Array(names)) => return names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => {}
    }
    let values = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice);
    let values = values.or_else(|| schema.get("const").map(std::slice::from_ref));
    if let Some(values) = values {
        return distinct(values.iter().map(|value| type_of(value).to_owned()));
    }
    if schema.contains_key("properties") {
        return vec!["object".to_owned()];
    }
    if schema.contains_key("items") { vec!["array".to_owned()] } else { Vec::new() }
}

/// Returns the keywords of `schema` that apply to values of the type `name`, without annotations.
pub(super) fn part(schema: &Map<String, Value>, name: &str) -> Map<String, Value> {
    let concerns = |key: &str| match key {
        "type" => false,
        key if is_annotation(key) => false,
        key if OF_OBJECTS.contains(&key) => name == "object",
        key if OF_ARRAYS.contains(&key) => name == "array",
        _ => name != "null" && name != "object" && name != "array",
    };
    let mut part: Map<String, Value> = Map::from_iter([("type".to_owned(), name.into())]);
    part.extend(schema.iter().filter(|(key, _)| concerns(key)).map(|(key, value)| (key.clone(), value.clone())));
    part
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
