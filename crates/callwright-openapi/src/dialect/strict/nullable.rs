//! Types of schemas, which a strict schema must name, and optional properties, which are expressed as nullable.

use serde_json::{Map, Value, json};

use super::super::words::{name_of, reference};
use crate::schema::{is_annotation, or_else};
use crate::tool::text::distinct;

/// Maximum number of `$ref`s that are followed to find out whether null is accepted.
const MAX_HOPS: usize = 16;

/// Whether `schema` already accepts null. Null could then not represent an absent property.
pub(super) fn takes_null(schema: &Value, definitions: &Map<String, Value>) -> bool {
    takes(schema, definitions, MAX_HOPS)
}

fn takes(schema: &Value, definitions: &Map<String, Value>, hops: usize) -> bool {
    let Some(members) = schema.as_object() else { return schema != &Value::Bool(false) };
    let Some(hops) = hops.checked_sub(1) else { return true };
    let of = |schema: &Value| takes(schema, definitions, hops);
    let by_type = members.get("type").is_none_or(|name| match name {
        Value::Array(names) => names.iter().any(|name| name == "null"),
        name => name == "null",
    });
    let by_values = members.get("enum").and_then(Value::as_array).is_none_or(|values| values.contains(&Value::Null))
        && members.get("const").is_none_or(Value::is_null);
    let by_reference = reference(members)
        .and_then(name_of)
        .and_then(|name| definitions.get(name))
        .is_none_or(|target| takes(target, definitions, hops));
    let any = |key: &str| members.get(key).and_then(Value::as_array).is_none_or(|all| all.iter().any(of));
    let all = members.get("allOf").and_then(Value::as_array).is_none_or(|all| all.iter().all(of));
    by_type && by_values && by_reference && all && any("anyOf") && any("oneOf")
}

/// Returns the strict `schema` extended by null.
pub(super) fn or_null(schema: Map<String, Value>) -> Map<String, Value> {
    let nothing = json!({"type": "null"});
    if let Some(Value::Array(branches)) = schema.get("anyOf") {
        let mut branches = branches.clone();
        branches.push(nothing);
        let mut schema = schema;
        schema.insert("anyOf".to_owned(), branches.into());
        return schema;
    }
    let is_scalar = schema.get("type").is_some_and(|name| {
        let name = name.as_array().and_then(|names| names.first()).unwrap_or(name);
        name != "object" && name != "array"
    });
    if !is_scalar {
        return or_else(schema, nothing);
    }
    let mut schema = schema;
    if let Some(only) = schema.shift_remove("const") {
        schema.insert("enum".to_owned(), json!([only]));
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.push(Value::Null);
    }
    match schema.get_mut("type") {
        Some(Value::Array(names)) => names.push("null".into()),
        Some(name) => *name = json!([name.clone(), "null"]),
        None => {}
    }
    schema
}

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
    let mut part: Map<String, Value> = Map::from_iter([("type".to_owned(), name.into())]);
    part.extend(schema.iter().filter(|(key, _)| concerns(key, name)).map(|(key, value)| (key.clone(), value.clone())));
    part
}

/// Whether the keyword `key` applies to values of the type `name`.
fn concerns(key: &str, name: &str) -> bool {
    match key {
        "type" => false,
        key if is_annotation(key) => false,
        key if OF_OBJECTS.contains(&key) => name == "object",
        key if OF_ARRAYS.contains(&key) => name == "array",
        _ => name != "null" && name != "object" && name != "array",
    }
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
