//! Takes the required arguments with a single allowed value out of a tool's schema.

use serde_json::Value;

use super::loops::target;
use super::translator::remove_properties;
use crate::tool::text::strings;

/// Removes the required properties that have a single allowed value from `schema`, the argument object of a tool, and
/// returns them with their values. `kept` is the name of a property that remains.
pub(super) fn take_single_values(schema: &mut Value, kept: Option<&str>) -> Vec<(String, Value)> {
    let mut taken: Vec<(String, Value)> = Vec::new();
    for name in strings(schema.get("required")).filter(|name| Some(*name) != kept) {
        let property = schema.get("properties").and_then(|properties| properties.get(name));
        let value = property.and_then(|property| single_value(property, schema.get("$defs")));
        taken.extend(value.map(|value| (name.to_owned(), value.clone())));
    }
    let Some(members) = schema.as_object_mut().filter(|_| !taken.is_empty()) else { return taken };
    remove_properties(members, &taken.iter().map(|(name, _)| name.as_str()).collect());
    if members.get("required").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        members.shift_remove("required");
    }
    taken
}

/// Returns the only value that the schema allows, if it has `const` or an enumeration of one value itself, in a branch
/// of `allOf`, or in a definition of `definitions`.
fn single_value<'s>(schema: &'s Value, definitions: Option<&'s Value>) -> Option<&'s Value> {
    if let Some(value) = own_single_value(schema) {
        return Some(value);
    }
    let branches = schema.get("allOf").and_then(Value::as_array);
    for branch in branches.into_iter().flatten().chain([schema]) {
        let definition = target(branch).and_then(|name| definitions?.get(name));
        if let Some(value) = own_single_value(definition.unwrap_or(branch)) {
            return Some(value);
        }
    }
    None
}

fn own_single_value(schema: &Value) -> Option<&Value> {
    if let Some(value) = schema.get("const") {
        return Some(value);
    }
    match schema.get("enum")?.as_array()?.as_slice() {
        [only] => Some(only),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn required_arguments_with_one_allowed_value_are_taken() {
        let mut schema = json!({
            "type": "object",
            "properties": {
                "constant": {"const": 5},
                "listed": {"type": "string", "enum": ["a"]},
                "branch": {"allOf": [{"enum": ["b"]}], "description": "b"},
                "defined": {"$ref": "#/$defs/D"},
                "several": {"enum": ["a", "b"]},
                "nullable": {"enum": ["a", null]},
                "optional": {"const": 1},
                "nested": {"type": "object", "properties": {"kind": {"const": "x"}}, "required": ["kind"]}
            },
            "required": ["constant", "listed", "branch", "defined", "several", "nullable", "nested"],
            "additionalProperties": false,
            "$defs": {"D": {"const": "d"}}
        });
        assert_eq!(take_single_values(&mut schema.clone(), Some("constant"))[0].0, "listed");
        let taken = take_single_values(&mut schema, None);
        let expected =
            [("constant", json!(5)), ("listed", json!("a")), ("branch", json!("b")), ("defined", json!("d"))];
        assert_eq!(taken, expected.map(|(name, value)| (name.to_owned(), value)));
        assert_eq!(schema["required"], json!(["several", "nullable", "nested"]));
        let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["several", "nullable", "optional", "nested"]);
    }

    #[test]
    fn an_empty_list_of_required_arguments_is_dropped() {
        let mut schema = json!({"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]});
        assert_eq!(take_single_values(&mut schema, None), [("a".to_owned(), json!(1))]);
        assert_eq!(schema, json!({"type": "object", "properties": {}}));
        assert!(take_single_values(&mut json!(true), None).is_empty());
    }
}
