//! `$ref`s within a tool's schema.

use serde_json::{Map, Value};

use super::super::schema::{DEFINITIONS, is_annotation};

/// The definition that `reference` names, by its name; `None` for anything else.
pub(super) fn name_of(reference: &str) -> Option<&str> {
    reference.strip_prefix(DEFINITIONS).filter(|name| !name.is_empty())
}

/// The `$ref` of a schema.
pub(super) fn reference(schema: &Map<String, Value>) -> Option<&str> {
    schema.get("$ref").and_then(Value::as_str)
}

/// The definitions of a schema.
pub(super) fn definitions(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("$defs").and_then(Value::as_object)
}

/// `target` as it is where it is used: with what stands beside the `$ref`, which says what this use is about. Constraints on both
/// sides that have the same keyword must both hold.
pub(super) fn used_here(target: Map<String, Value>, beside: Map<String, Value>) -> Map<String, Value> {
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
