//! Rewrites a schema bottom-up.

use serde_json::{Map, Value};

use super::super::schema::{Form, form};
use super::trail::Trail;

/// Applies `change` to every object schema in `schema`, definitions included, innermost first. Replaces the schema
/// `true` by an equivalent schema without keywords.
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
        // Boolean `additionalProperties` and `items` act as flags and are kept.
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
