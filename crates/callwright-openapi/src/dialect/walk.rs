//! Rewrites a schema bottom-up.

use serde_json::{Map, Value};

use super::super::schema::{KeywordForm, form};
use super::trail::DialectTrail;

/// Applies `change` to every object schema in `schema`, definitions included, innermost first. Replaces the schema
/// `true` by an equivalent schema without keywords.
pub(super) fn rewrite(
    schema: &Value,
    trail: &DialectTrail<'_>,
    change: &mut impl FnMut(Map<String, Value>, &DialectTrail<'_>) -> Map<String, Value>,
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
    trail: &DialectTrail<'_>,
    change: &mut impl FnMut(Map<String, Value>, &DialectTrail<'_>) -> Map<String, Value>,
) -> Value {
    let form = if key == "$defs" { Some(KeywordForm::SchemaMap) } else { form(key) };
    match (form, value) {
        // Boolean `additionalProperties` and `items` act as flags and are kept.
        (Some(KeywordForm::Schema), Value::Bool(_)) => value.clone(),
        (Some(KeywordForm::Schema), _) => rewrite(value, trail, change),
        (Some(KeywordForm::Schemas), Value::Array(schemas)) => {
            let rewritten =
                schemas.iter().enumerate().map(|(index, schema)| rewrite(schema, &trail.item(index), change));
            Value::Array(rewritten.collect())
        }
        (Some(KeywordForm::SchemaMap), Value::Object(schemas)) => {
            let rewritten =
                schemas.iter().map(|(name, schema)| (name.clone(), rewrite(schema, &trail.member(name), change)));
            Value::Object(rewritten.collect())
        }
        _ => value.clone(),
    }
}
