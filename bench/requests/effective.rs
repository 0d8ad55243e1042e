//! Effective keywords of a schema, with randomly selected alternatives.

use serde_json::{Map, Value, json};

/// Maximum number of schemas that are merged into one.
const MAX_MERGED: usize = 64;

/// Returns the keywords of `schema`, of its references, of all `allOf` members and of one member of each `anyOf` and
/// `oneOf`. Returns `None` if no combination is satisfiable.
pub(crate) fn effective(root: &Value, schema: &Value, random: &mut fastrand::Rng) -> Option<Map<String, Value>> {
    let mut merged = Map::new();
    let mut queue = vec![schema];
    for _ in 0..MAX_MERGED {
        let Some(schema) = queue.pop() else { break };
        if schema == &Value::Bool(false) {
            return None;
        }
        for (keyword, value) in schema.as_object().into_iter().flatten() {
            match (keyword.as_str(), value) {
                ("$ref", Value::String(reference)) => {
                    queue.extend(reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer)));
                }
                ("allOf", Value::Array(all)) => queue.extend(all),
                ("anyOf" | "oneOf", Value::Array(branches)) => queue.extend(random.choice(branches)),
                _ => merge(&mut merged, keyword, value),
            }
        }
    }
    Some(merged)
}

fn merge(merged: &mut Map<String, Value>, keyword: &str, value: &Value) {
    let Some(present) = merged.get_mut(keyword) else {
        merged.insert(keyword.to_owned(), value.clone());
        return;
    };
    match (keyword, present, value) {
        ("properties", Value::Object(present), Value::Object(more)) => {
            for (name, schema) in more {
                let known = present.get_mut(name).map(Value::take);
                let both = known.map_or_else(|| schema.clone(), |known| json!({"allOf": [known, schema]}));
                present.insert(name.clone(), both);
            }
        }
        ("items", present, value) => *present = json!({"allOf": [present.take(), value]}),
        ("required", Value::Array(present), Value::Array(more)) => present.extend(more.iter().cloned()),
        ("enum", Value::Array(present), Value::Array(more)) => present.retain(|value| more.contains(value)),
        ("additionalProperties", present, Value::Bool(false)) => *present = false.into(),
        ("minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties", present, value)
            if value.as_f64() > present.as_f64() =>
        {
            *present = value.clone();
        }
        ("maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties", present, value)
            if value.as_f64() < present.as_f64() =>
        {
            *present = value.clone();
        }
        ("type", present, value) => *present = common_types(present, value),
        _ => {}
    }
}

/// Returns the types that both schemas allow, or those of the first if they have none in common.
fn common_types(first: &Value, second: &Value) -> Value {
    let named = |types: &Value| match types {
        Value::Array(types) => types.clone(),
        name => vec![name.clone()],
    };
    let (first, second) = (named(first), named(second));
    let mut both: Vec<Value> = first.iter().filter(|name| second.contains(name)).cloned().collect();
    let has_whole = |names: &[Value]| names.iter().any(|name| name == "integer");
    let has_any_number = |names: &[Value]| names.iter().any(|name| name == "number");
    if has_whole(&first) && has_any_number(&second) || has_any_number(&first) && has_whole(&second) {
        both.push("integer".into());
    }
    Value::Array(if both.is_empty() { first } else { both })
}
