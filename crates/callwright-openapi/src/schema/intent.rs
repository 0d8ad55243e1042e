//! Interprets misplaced keywords.

use serde_json::{Map, Value, json};

use super::literal::{fit, types_of};

/// Whether the schema has properties that are not an object.
pub(super) fn has_malformed_properties(members: &Map<String, Value>) -> bool {
    ["properties", "patternProperties"].iter().any(|key| members.get(*key).is_some_and(|value| !value.is_object()))
}

/// Whether the value is an array with one schema: used instead of a plain schema, or as a tuple of one item.
pub(super) fn is_list_of_one(value: &Value) -> bool {
    value.as_array().is_some_and(|items| items.len() == 1)
}

/// Moves `enum` beside the type `array` to its items.
pub(super) fn give_values_to_items(members: &Map<String, Value>, translated: &mut Map<String, Value>) {
    let values = members.get("enum").filter(|_| types_of(members) == ["array"]).and_then(Value::as_array);
    let Some(values) = values.filter(|values| !values.iter().any(Value::is_array)) else { return };
    let items = translated.entry("items").or_insert_with(|| json!({}));
    let Some(items) =
        items.as_object_mut().filter(|items| !["enum", "$ref"].iter().any(|key| items.contains_key(*key)))
    else {
        return;
    };
    let types = types_of(items);
    let fitting: Vec<Value> = values.iter().filter_map(|value| fit(value, &types)).collect();
    if !fitting.is_empty() {
        items.insert("enum".to_owned(), fitting.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_enum_beside_an_array_applies_to_its_items() {
        for (written, items, expected) in [
            (
                json!({"type": "array", "enum": ["a", 1]}),
                json!({"type": "string"}),
                json!({"type": "string", "enum": ["a", "1"]}),
            ),
            (json!({"type": "array", "enum": ["a"]}), json!({"enum": ["b"]}), json!({"enum": ["b"]})),
            (json!({"type": "array", "enum": [["a"]]}), json!({}), json!({})),
            (json!({"type": ["array", "string"], "enum": ["a"]}), json!({}), json!({})),
        ] {
            let mut translated = Map::from_iter([("items".to_owned(), items)]);
            give_values_to_items(written.as_object().unwrap(), &mut translated);
            assert_eq!(translated["items"], expected, "{written}");
        }
    }
}
