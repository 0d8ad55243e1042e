//! Removes keywords that reject values because another schema accepts them: `oneOf` rejects values that two
//! alternatives accept, `not` and `if` values that one schema accepts.
//!
//! If a part of a schema was omitted, it accepts more values than the document. These keywords would then reject
//! values that the document allows. For example, two alternatives that were both reduced to `type: object` accept the
//! same values, and `oneOf` rejects all of them.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::keyword::{subschemas, subschemas_mut};
use super::loops::target;

/// Keywords that can reject more values if a subschema accepts more. `oneOf` is replaced by `anyOf` instead.
const REFUSING: [&str; 7] = ["not", "if", "then", "else", "maxContains", "unevaluatedItems", "unevaluatedProperties"];

/// Those of them that depend on `if`.
const CONDITION: [&str; 3] = ["if", "then", "else"];

/// Whether the schema only compares properties with values, so that nothing can have been omitted from it.
fn compares_values(schema: &Value) -> bool {
    let Some(members) = schema.as_object() else { return false };
    let properties = members.get("properties").and_then(Value::as_object);
    members.len() == 1
        && properties.into_iter().flatten().all(|(_, property)| {
            property.as_object().is_some_and(|keys| keys.keys().all(|key| key == "const" || key == "enum"))
        })
}

/// Removes such keywords from the named loose `properties` and `definitions`, and from everything that references
/// those definitions. Returns whether anything changed.
pub(super) fn relax(
    properties: &mut Map<String, Value>,
    loose_properties: &HashSet<String>,
    definitions: &mut Map<String, Value>,
    loose: HashSet<String>,
) -> bool {
    if loose.is_empty() && loose_properties.is_empty() {
        return false;
    }
    let loose = with_referrers(definitions, loose);
    let mut is_changed = false;
    for (_, schema) in definitions.iter_mut().filter(|(name, _)| loose.contains(*name)) {
        is_changed |= relax_one(schema);
    }
    for (name, schema) in properties.iter_mut() {
        if loose_properties.contains(name) || refers_to(schema, &mut |target| loose.contains(target)) {
            is_changed |= relax_one(schema);
        }
    }
    is_changed
}

/// Returns `loose` and every definition that references one of them, transitively.
fn with_referrers(definitions: &Map<String, Value>, mut loose: HashSet<String>) -> HashSet<String> {
    let mut referrers: HashMap<String, Vec<&String>> = HashMap::new();
    for (name, schema) in definitions {
        refers_to(schema, &mut |target| {
            referrers.entry(target.to_owned()).or_default().push(name);
            false
        });
    }
    let mut pending: Vec<String> = loose.iter().cloned().collect();
    while let Some(target) = pending.pop() {
        for name in referrers.get(&target).into_iter().flatten() {
            if loose.insert((*name).clone()) {
                pending.push((*name).clone());
            }
        }
    }
    loose
}

/// Whether a `$ref` in `schema` targets a definition for which `is_target` is true.
fn refers_to(schema: &Value, is_target: &mut impl FnMut(&str) -> bool) -> bool {
    let Some(members) = schema.as_object() else { return false };
    target(schema).is_some_and(&mut *is_target)
        || members.iter().any(|(key, value)| subschemas(key, value).any(|schema| refers_to(schema, is_target)))
}

fn relax_one(schema: &mut Value) -> bool {
    let Some(members) = schema.as_object_mut() else { return false };
    let mut is_changed = false;
    let is_exact = members.get("if").is_some_and(compares_values);
    for keyword in REFUSING.iter().filter(|keyword| !is_exact || !CONDITION.contains(keyword)) {
        is_changed |= members.shift_remove(*keyword).is_some();
    }
    if let Some(alternatives) = members.shift_remove("oneOf") {
        // If there is an `anyOf` already, the alternatives move to `allOf`.
        if members.contains_key("anyOf") {
            let apart = Value::Object(Map::from_iter([("anyOf".to_owned(), alternatives)]));
            match members.get_mut("allOf").and_then(Value::as_array_mut) {
                Some(all) => all.push(apart),
                None => {
                    members.insert("allOf".to_owned(), Value::Array(vec![apart]));
                }
            }
        } else {
            members.insert("anyOf".to_owned(), alternatives);
        }
        is_changed = true;
    }
    for (key, value) in members.iter_mut() {
        for schema in subschemas_mut(key, value) {
            is_changed |= relax_one(schema);
        }
    }
    is_changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn members(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    fn names(names: &[&str]) -> HashSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn referrers_of_a_loose_definition_lose_exclusivity() {
        let alternatives = json!([{"$ref": "#/$defs/A"}, {"type": "string"}]);
        let mut properties = members(json!({
            "x": {"oneOf": alternatives, "not": {"type": "null"}},
            "y": {"oneOf": [{"type": "string"}, {"type": "integer"}]}
        }));
        let mut definitions = members(json!({
            "A": {"properties": {"b": {"$ref": "#/$defs/B"}}},
            "B": {"type": "object"},
            "C": {"not": {"type": "string"}}
        }));
        let untouched = (properties["y"].clone(), definitions["C"].clone());
        assert!(relax(&mut properties, &HashSet::new(), &mut definitions, names(&["B"])));
        assert_eq!(properties["x"], json!({"anyOf": alternatives}));
        assert_eq!((properties["y"].clone(), definitions["C"].clone()), untouched);
    }

    #[test]
    fn any_of_and_one_of_side_by_side_both_apply() {
        let mut properties =
            members(json!({"x": {"anyOf": [{"type": "object"}], "oneOf": [{}], "if": {}, "then": {}}}));
        assert!(relax(&mut properties, &names(&["x"]), &mut Map::new(), HashSet::new()));
        assert_eq!(properties["x"], json!({"anyOf": [{"type": "object"}], "allOf": [{"anyOf": [{}]}]}));
    }

    #[test]
    fn schemas_without_loose_parts_are_unchanged() {
        let mut properties = members(json!({"x": {"oneOf": [{}, {}]}}));
        let before = properties.clone();
        assert!(!relax(&mut properties, &HashSet::new(), &mut Map::new(), HashSet::new()));
        assert_eq!(properties, before);
    }
}
