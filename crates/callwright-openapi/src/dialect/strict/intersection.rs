//! Merges two schemas that must both hold into one, because the strict subset has no `allOf`.

use serde_json::{Map, Value};

use crate::schema::is_annotation;

/// Maximum nesting of properties that are merged.
const MAX_LEVELS: usize = 32;

/// Returns the schema of the values that both `left` and `right` accept; `None` if that needs `allOf`. The
/// description of `left` comes first.
pub(super) fn intersection(left: &Map<String, Value>, right: &Map<String, Value>) -> Option<Map<String, Value>> {
    both(left, right, MAX_LEVELS)
}

fn both(left: &Map<String, Value>, right: &Map<String, Value>, levels: usize) -> Option<Map<String, Value>> {
    let levels = levels.checked_sub(1)?;
    if closes_out(left, right) || closes_out(right, left) {
        return None;
    }
    let mut joined = left.clone();
    for (key, value) in right {
        let Some(own) = joined.get(key).filter(|own| *own != value) else {
            joined.insert(key.clone(), value.clone());
            continue;
        };
        let combined = match key.as_str() {
            "properties" => properties(own.as_object()?, value.as_object()?, levels)?,
            "required" => union(own.as_array()?, value.as_array()?),
            "type" => types(own, value)?,
            "enum" => values(own.as_array()?, |candidate| value.as_array().is_some_and(|all| all.contains(candidate)))?,
            "minimum" | "minLength" | "minItems" | "minProperties" => bound(own, value, f64::max)?,
            "maximum" | "maxLength" | "maxItems" | "maxProperties" => bound(own, value, f64::min)?,
            "items" => Value::Object(both(own.as_object()?, value.as_object()?, levels)?),
            "description" => description(own, value),
            key if is_annotation(key) => own.clone(),
            _ => return None,
        };
        joined.insert(key.clone(), combined);
    }
    narrow_to_const(joined)
}

/// Whether `closed` is a closed object that lacks a property which `other` describes.
fn closes_out(closed: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    let described = closed.get("properties").and_then(Value::as_object);
    let is_closed = closed.get("additionalProperties").is_some_and(|more| more != &Value::Bool(true));
    let mut others = other.get("properties").and_then(Value::as_object).into_iter().flatten();
    is_closed && others.any(|(name, _)| !described.is_some_and(|all| all.contains_key(name)))
}

fn properties(left: &Map<String, Value>, right: &Map<String, Value>, levels: usize) -> Option<Value> {
    let mut joined = left.clone();
    for (name, schema) in right {
        let combined = match joined.get(name) {
            Some(own) if own != schema => Value::Object(both(own.as_object()?, schema.as_object()?, levels)?),
            _ => schema.clone(),
        };
        joined.insert(name.clone(), combined);
    }
    Some(Value::Object(joined))
}

fn union(left: &[Value], right: &[Value]) -> Value {
    let mut joined = left.to_vec();
    joined.extend(right.iter().filter(|name| !left.contains(name)).cloned());
    Value::Array(joined)
}

/// Intersects the types; every integer is a number.
fn types(left: &Value, right: &Value) -> Option<Value> {
    let [left, right] = [left, right].map(|value| value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]));
    let mut shared: Vec<Value> = left.iter().filter(|name| right.contains(name)).cloned().collect();
    if narrows_number(&left, &right) || narrows_number(&right, &left) {
        shared.push("integer".into());
    }
    match shared.as_slice() {
        [] => None,
        [only] => Some(only.clone()),
        _ => Some(Value::Array(shared)),
    }
}

fn values(all: &[Value], is_kept: impl Fn(&Value) -> bool) -> Option<Value> {
    let kept: Vec<Value> = all.iter().filter(|value| is_kept(value)).cloned().collect();
    (!kept.is_empty()).then_some(Value::Array(kept))
}

fn bound(left: &Value, right: &Value, choose: fn(f64, f64) -> f64) -> Option<Value> {
    let (l, r) = (left.as_f64()?, right.as_f64()?);
    #[expect(clippy::float_cmp, reason = "the choice is one of the two")]
    let is_left = choose(l, r) == l;
    Some(if is_left { left.clone() } else { right.clone() })
}

/// Whether `one` has integers and `other` has any numbers.
fn narrows_number(one: &[Value], other: &[Value]) -> bool {
    let [integer, number] = ["integer", "number"].map(Value::from);
    one.contains(&integer) && other.contains(&number) && !other.contains(&integer)
}

fn description(left: &Value, right: &Value) -> Value {
    match (left.as_str(), right.as_str()) {
        (Some(left), Some(right)) if !left.contains(right) => format!("{left}\n{right}").into(),
        _ => left.clone(),
    }
}

/// Reduces `enum` and `const` to the `const`. Returns `None` if the `enum` does not contain it.
fn narrow_to_const(mut schema: Map<String, Value>) -> Option<Map<String, Value>> {
    let (Some(only), Some(values)) = (schema.get("const"), schema.get("enum").and_then(Value::as_array)) else {
        return Some(schema);
    };
    if !values.contains(only) {
        return None;
    }
    schema.shift_remove("enum");
    Some(schema)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn intersected(left: Value, right: Value) -> Option<Value> {
        intersection(left.as_object()?, right.as_object()?).map(Value::Object)
    }

    #[test]
    fn constraints_of_both_sides_are_kept() {
        let base = json!({"type": "object", "description": "A pet.", "required": ["kind"],
            "properties": {"kind": {"type": "string", "enum": ["cat", "dog"]}, "age": {"type": "number", "minimum": 0}}});
        let cat = json!({"description": "A cat.", "required": ["lives"],
            "properties": {"kind": {"const": "cat"}, "age": {"type": "integer", "minimum": 2}, "lives": {"type": "integer"}}});
        let expected = json!({"type": "object", "description": "A pet.\nA cat.", "required": ["kind", "lives"],
            "properties": {"kind": {"type": "string", "const": "cat"}, "age": {"type": "integer", "minimum": 2}, "lives": {"type": "integer"}}});
        assert_eq!(intersected(base, cat), Some(expected));
    }

    #[test]
    fn constraints_without_a_single_schema_are_rejected() {
        for (left, right) in [
            (json!({"type": "string"}), json!({"type": "integer"})),
            (json!({"pattern": "a"}), json!({"pattern": "b"})),
            (json!({"additionalProperties": false, "properties": {"a": {}}}), json!({"properties": {"b": {}}})),
            (json!({"enum": ["a"]}), json!({"const": "b"})),
            (json!({"anyOf": [{"type": "string"}]}), json!({"anyOf": [{"type": "integer"}]})),
        ] {
            assert_eq!(intersected(left.clone(), right.clone()), None, "{left} {right}");
        }
    }
}
