//! The subset that OpenAI accepts for any function, `strict` or not.
//!
//! OpenAI rejects the whole request for each of: "schema must have type 'object' and not have
//! 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level", "array schema missing items", and patterns that are "not a
//! 'regex'".

use serde_json::{Map, Value, json};

use super::pattern;
use super::translated::{DialectTrail, Losses, TranslatedSchema, replace_schemas};
use super::words::{append_sentence, sentence};

/// Keywords that are not allowed at the top level, and `dependentSchemas`, which may contain them.
const NOT_AT_THE_TOP: [&str; 10] =
    ["oneOf", "anyOf", "allOf", "enum", "const", "not", "if", "then", "else", "dependentSchemas"];

pub(super) fn translate(schema: &Value) -> TranslatedSchema {
    let mut losses = Losses::default();
    let trail = DialectTrail::Root;
    let written = rewrite(schema, &trail, &mut |members, trail| readable(members, trail, &mut losses));
    let parameters = top(written, &trail, &mut losses);
    TranslatedSchema { parameters, strict: false, losses: losses.finish() }
}

/// Removes from one schema the parts that OpenAI rejects in any schema.
fn readable(mut schema: Map<String, Value>, trail: &DialectTrail<'_>, losses: &mut Losses) -> Map<String, Value> {
    let may_be_array = schema.get("type").is_some_and(|name| match name {
        Value::Array(names) => names.iter().any(|name| name == "array"),
        name => name == "array",
    });
    if may_be_array && !schema.get("items").is_some_and(Value::is_object) {
        // An absent `items` already allows any item. `items: false` behind a tuple is still enforced by validation.
        schema.insert("items".to_owned(), json!({}));
    }
    let written = schema.get("pattern").and_then(Value::as_str).filter(|written| !pattern::is_common(written));
    if let Some(written) = written.map(str::to_owned) {
        append_sentence(&mut schema, &sentence("pattern", &written.into()));
        schema.shift_remove("pattern");
        losses.add(trail, "`pattern` is not portable across regex engines; it is moved to the description");
    }
    schema
}

/// Returns the top-level schema as an object with `properties`.
fn top(schema: Value, trail: &DialectTrail<'_>, losses: &mut Losses) -> Value {
    let mut members = match schema {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    let removed: Vec<(&str, Value)> =
        NOT_AT_THE_TOP.into_iter().filter_map(|key| Some((key, members.shift_remove(key)?))).collect();
    for (key, value) in &removed {
        losses.add(trail, format!("`{key}` is not allowed at the top level; its properties are offered without it"));
        adopt(&mut members, key, value);
    }
    members.insert("type".to_owned(), "object".into());
    if !members.get("properties").is_some_and(Value::is_object) {
        members.insert("properties".to_owned(), json!({}));
    }
    Value::Object(members)
}

/// Merges the properties of the branches of `value` into `members`. The `required` names of `allOf` branches stay
/// required; those of alternatives do not.
fn adopt(members: &mut Map<String, Value>, key: &str, value: &Value) {
    let branches = value.as_array().into_iter().flatten().filter_map(Value::as_object);
    for branch in branches {
        let described = branch.get("properties").and_then(Value::as_object).into_iter().flatten();
        let properties = members.entry("properties").or_insert_with(|| json!({}));
        if let Value::Object(properties) = properties {
            for (name, schema) in described {
                properties.entry(name.clone()).or_insert_with(|| schema.clone());
            }
        }
        let required = branch.get("required").and_then(Value::as_array).filter(|_| key == "allOf");
        if let (Some(required), Value::Array(all)) = (required, members.entry("required").or_insert_with(|| json!([])))
        {
            let missing: Vec<Value> = required.iter().filter(|name| !all.contains(name)).cloned().collect();
            all.extend(missing);
        }
    }
}

/// Applies `change` to every object schema in `schema`, definitions included, innermost first. Replaces the schema
/// `true` by an equivalent schema without keywords.
fn rewrite(schema: &Value, trail: &DialectTrail<'_>, change: &mut SchemaChange<'_>) -> Value {
    match schema {
        Value::Bool(true) => Value::Object(change(Map::new(), trail)),
        Value::Object(members) => {
            let mut inner = Map::new();
            for (key, value) in members {
                // Boolean `additionalProperties` and `items` act as flags and are kept.
                let replaced = if value.is_boolean() {
                    None
                } else {
                    let mut replace = |schema: &Value, trail: &DialectTrail<'_>| Some(rewrite(schema, trail, change));
                    replace_schemas((key, value), &trail.member(key), &mut replace)
                };
                inner.insert(key.clone(), replaced.unwrap_or_else(|| value.clone()));
            }
            Value::Object(change(inner, trail))
        }
        other => other.clone(),
    }
}

/// A change of one schema.
type SchemaChange<'c> = dyn FnMut(Map<String, Value>, &DialectTrail<'_>) -> Map<String, Value> + 'c;
