//! Optional properties in strict schemas, which are expressed as nullable.

use serde_json::{Map, Value, json};

use super::super::reference::{name_of, reference};
use crate::schema::or_else;

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
