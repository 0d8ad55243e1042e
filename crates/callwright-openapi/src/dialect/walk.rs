//! A schema rewritten from its leaves upwards.

use serde_json::{Map, Value};

use super::super::schema::{Form, form};
use super::trail::Trail;

/// `schema` with `change` applied to every object schema in it, definitions included, innermost first. `true` becomes a schema without
/// keywords, which says the same.
pub(super) fn rewrite(
    schema: &Value,
    trail: &Trail<'_>,
    change: &mut impl FnMut(Map<String, Value>, &Trail<'_>) -> Map<String, Value>,
) -> Value {
    match schema {
        Value::Bool(true) => Value::Object(change(Map::new(), trail)),
        Value::Object(members) => {
            let inner =
                members.iter().map(|(key, value)| (key.clone(), member(key, value, &trail.member(key), change)));
            let inner = inner.collect();
            Value::Object(change(inner, trail))
        }
        other => other.clone(),
    }
}

fn member(
    key: &str,
    value: &Value,
    trail: &Trail<'_>,
    change: &mut impl FnMut(Map<String, Value>, &Trail<'_>) -> Map<String, Value>,
) -> Value {
    let form = if key == "$defs" { Some(Form::SchemaMap) } else { form(key) };
    match (form, value) {
        // Whether an object is open, or an array has more items, is a flag to every reader.
        (Some(Form::Schema), Value::Bool(_)) => value.clone(),
        (Some(Form::Schema), _) => rewrite(value, trail, change),
        (Some(Form::Schemas), Value::Array(schemas)) => {
            let rewritten =
                schemas.iter().enumerate().map(|(index, schema)| rewrite(schema, &trail.item(index), change));
            Value::Array(rewritten.collect())
        }
        (Some(Form::SchemaMap), Value::Object(schemas)) => {
            let rewritten =
                schemas.iter().map(|(name, schema)| (name.clone(), rewrite(schema, &trail.member(name), change)));
            Value::Object(rewritten.collect())
        }
        _ => value.clone(),
    }
}
