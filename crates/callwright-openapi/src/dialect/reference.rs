//! `$ref`s within a tool's schema.

use serde_json::{Map, Value};

use crate::schema::{DEFINITIONS, is_annotation};

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
