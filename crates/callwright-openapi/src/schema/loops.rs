//! Opens definitions that refer to themselves without descending a level in the value.
//!
//! `A: {allOf: [{$ref: A}]}` cannot be evaluated: a validator recurses without end. Recursion through `properties` or
//! `items` is harmless, because every step consumes a level of the value.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::keyword::{applies_to_same_value, subschemas_mut};
use callwright_common::schema::subschemas;

/// Prefix of `$ref`s to definitions.
pub(crate) const DEFINITIONS: &str = "#/$defs/";

/// Opens all such loops: their `$ref`s become schemas that allow any value. Returns the names of the changed
/// definitions.
pub(super) fn open_loops(definitions: &mut Map<String, Value>) -> Vec<String> {
    let mut edges: HashMap<String, HashSet<String>> = HashMap::new();
    for (name, schema) in definitions.iter() {
        let mut targets = HashSet::new();
        visit_same_value(schema, &mut |target| {
            targets.insert(target.to_owned());
        });
        edges.insert(name.clone(), targets);
    }
    let looping = strip_to_loops(edges);
    let mut changed = Vec::new();
    for (name, schema) in definitions.iter_mut().filter(|(name, _)| looping.contains(*name)) {
        cut_references(schema, &looping);
        changed.push(name.clone());
    }
    changed
}

/// Repeatedly removes definitions without outgoing or without incoming edges. Returns the remaining ones: the
/// definitions in loops, and those on paths between loops.
fn strip_to_loops(mut edges: HashMap<String, HashSet<String>>) -> HashSet<String> {
    loop {
        let before = edges.len();
        let names: HashSet<String> = edges.keys().cloned().collect();
        for targets in edges.values_mut() {
            targets.retain(|target| names.contains(target));
        }
        edges.retain(|_, targets| !targets.is_empty());
        let led_to: HashSet<String> = edges.values().flatten().cloned().collect();
        edges.retain(|name, _| led_to.contains(name));
        if edges.len() == before {
            return edges.into_keys().collect();
        }
    }
}

fn visit_same_value(schema: &Value, found: &mut impl FnMut(&str)) {
    let Some(members) = schema.as_object() else { return };
    if let Some(target) = target(schema) {
        found(target);
    }
    for inside in subschemas(members).filter(|inside| inside.applies.is_same_value()) {
        visit_same_value(inside.schema, found);
    }
}

fn cut_references(schema: &mut Value, looping: &HashSet<String>) {
    let is_cut = target(schema).is_some_and(|target| looping.contains(target));
    let Some(members) = schema.as_object_mut() else { return };
    if is_cut {
        members.shift_remove("$ref");
    }
    for (key, value) in members.iter_mut().filter(|(key, _)| applies_to_same_value(key)) {
        subschemas_mut(key, value).for_each(|schema| cut_references(schema, looping));
    }
}

/// Returns the name of the definition that the `$ref` of `schema` targets.
pub(super) fn target(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix(DEFINITIONS)
}

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
    target(schema).is_some_and(&mut *is_target) || subschemas(members).any(|inside| refers_to(inside.schema, is_target))
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

    fn opened(definitions: Value) -> (Value, Vec<String>) {
        let Value::Object(mut definitions) = definitions else { unreachable!() };
        let changed = open_loops(&mut definitions);
        (Value::Object(definitions), changed)
    }

    #[test]
    fn a_definition_that_applies_itself_to_the_same_value_is_opened() {
        let (definitions, changed) = opened(json!({
            "A": {"allOf": [{"$ref": "#/$defs/B"}, {"type": "object"}]},
            "B": {"anyOf": [{"not": {"$ref": "#/$defs/A"}}]},
            "Uses": {"$ref": "#/$defs/A"}
        }));
        assert_eq!(definitions["A"], json!({"allOf": [{}, {"type": "object"}]}));
        assert_eq!(definitions["B"], json!({"anyOf": [{"not": {}}]}));
        assert_eq!(definitions["Uses"], json!({"$ref": "#/$defs/A"}));
        assert_eq!(changed.len(), 2);
    }

    #[test]
    fn recursion_through_properties_and_items_stays() {
        let tree = json!({
            "Tree": {"type": "object", "properties": {"children": {"items": {"$ref": "#/$defs/Tree"}}}},
            "Base": {"allOf": [{"$ref": "#/$defs/Tree"}]}
        });
        assert_eq!(opened(tree.clone()), (tree, vec![]));
    }

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
