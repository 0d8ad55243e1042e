//! Effective schema keywords of a value for a choice of alternatives.

use serde_json::{Map, Value};

use callwright_common::schema::resolve;

/// Maximum number of schemas to merge.
const MAX_MERGED: usize = 64;

/// Merges the keywords of `schema`, its references, its `allOf`, and alternative number `branch` of its `anyOf` and
/// `oneOf` (modulo their number, `null` last).
pub(super) fn effective(root: &Value, schema: &Value, branch: usize) -> Map<String, Value> {
    let mut merged = Map::new();
    let mut queue = vec![schema];
    for _ in 0..MAX_MERGED {
        let Some(keywords) = queue.pop() else { break };
        let Some(keywords) = keywords.as_object() else { continue };
        for (keyword, value) in keywords.iter().rev() {
            match (keyword.as_str(), value) {
                ("$ref", Value::String(reference)) => {
                    queue.extend(resolve(root, reference).map(|(_, target)| target));
                }
                ("allOf", Value::Array(all)) => queue.extend(all),
                ("anyOf" | "oneOf", Value::Array(branches)) => queue.extend(choose(branches, branch)),
                _ => {}
            }
        }
        for (keyword, value) in keywords {
            merge(&mut merged, keyword, value);
        }
    }
    merged
}

fn choose(branches: &[Value], branch: usize) -> Option<&Value> {
    let mut ordered: Vec<&Value> = branches.iter().collect();
    ordered.sort_by_key(|branch| branch.get("type").is_some_and(|name| name == "null"));
    ordered.get(branch % ordered.len().max(1)).copied()
}

fn merge(merged: &mut Map<String, Value>, keyword: &str, value: &Value) {
    let Some(present) = merged.get_mut(keyword) else {
        merged.insert(keyword.to_owned(), value.clone());
        return;
    };
    match (keyword, present, value) {
        ("properties", Value::Object(present), Value::Object(more)) => {
            for (name, schema) in more {
                match present.get_mut(name) {
                    Some(known) => *known = serde_json::json!({ "allOf": [known.take(), schema] }),
                    None => drop(present.insert(name.clone(), schema.clone())),
                }
            }
        }
        ("required", Value::Array(present), Value::Array(more)) => present.extend(more.iter().cloned()),
        ("minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties", present, value)
            if value.as_f64() > present.as_f64() =>
        {
            *present = value.clone();
        }
        ("maximum" | "exclusiveMaximum" | "maxLength" | "maxItems", present, value)
            if value.as_f64() < present.as_f64() =>
        {
            *present = value.clone();
        }
        ("type", present, value) if present == "number" && value == "integer" => *present = value.clone(),
        _ => {}
    }
}
