//! Opens definitions that refer to themselves without descending a level in the value.
//!
//! `A: {allOf: [{$ref: A}]}` cannot be evaluated: a validator recurses without end. Recursion through `properties` or
//! `items` is harmless, because every step consumes a level of the value.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::keyword::{applies_to_same_value, subschemas, subschemas_mut};

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
    for (key, value) in members.iter().filter(|(key, _)| applies_to_same_value(key)) {
        subschemas(key, value).for_each(|schema| visit_same_value(schema, found));
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
}
