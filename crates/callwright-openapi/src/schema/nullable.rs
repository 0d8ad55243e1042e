//! Rewrites keywords whose meaning in OpenAPI differs from JSON Schema or is usually mistaken: `nullable`, a single
//! `allOf`, and misplaced keywords.

use serde_json::{Map, Value, json};

use super::keyword::is_annotation;
use super::literal::{fit, types_of};

/// Whether values of the schema `members` may be null. Swagger 2.0 documents use `x-nullable`.
pub(super) fn is_nullable(members: &Map<String, Value>) -> bool {
    ["nullable", "x-nullable"].iter().any(|keyword| members.get(*keyword) == Some(&Value::Bool(true)))
}

/// Extends the translated `schema` by null: by a type if it has one, otherwise by `anyOf`.
pub(super) fn make_nullable(mut schema: Map<String, Value>) -> Map<String, Value> {
    let constrains_otherwise = ["$ref", "allOf", "anyOf", "oneOf", "not", "const", "if"];
    if constrains_otherwise.iter().any(|keyword| schema.contains_key(*keyword)) {
        return or_else(schema, json!({"type": "null"}));
    }
    // A value that `enum` does not list is not allowed; this includes null (OpenAPI 3.0.4, Schema Object,
    // `nullable`).
    if schema.get("enum").and_then(Value::as_array).is_some_and(|values| !values.contains(&Value::Null)) {
        return schema;
    }
    let null_type = Value::from("null");
    match schema.get_mut("type") {
        Some(Value::Array(types)) if !types.contains(&null_type) => types.push(null_type),
        Some(Value::Array(_)) | None => {}
        Some(name) => *name = json!([name.clone(), null_type]),
    }
    schema
}

/// Returns a schema that allows `schema` or `other`. The annotations of `schema` move to the result.
pub(crate) fn or_else(schema: Map<String, Value>, other: Value) -> Map<String, Value> {
    let (mut whole, inner): (Map<String, Value>, Map<String, Value>) =
        schema.into_iter().partition(|(keyword, _)| is_annotation(keyword));
    whole.insert("anyOf".to_owned(), json!([inner, other]));
    whole
}

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

/// Removes an `allOf` in which only one branch constrains. Returns `schema` unchanged if several do or keywords would
/// clash.
pub(super) fn unwrap_single(mut schema: Map<String, Value>) -> Map<String, Value> {
    let Some(Value::Array(branches)) = schema.get("allOf") else { return schema };
    let mut constraining = branches.iter().filter(|branch| constrains(branch));
    let (first, None) = (constraining.next(), constraining.next()) else { return schema };
    let clashes = first.is_some_and(|branch| match branch {
        Value::Object(keys) => keys.keys().any(|key| !is_annotation(key) && key != "allOf" && schema.contains_key(key)),
        _ => true,
    });
    if clashes {
        return schema;
    }
    let Some(Value::Array(branches)) = schema.shift_remove("allOf") else { return schema };
    // Annotations of this use take precedence over those of the referenced schema.
    let (describing, constraining): (Vec<Value>, Vec<Value>) =
        branches.into_iter().partition(|branch| !constrains(branch));
    for branch in describing.into_iter().chain(constraining) {
        let Value::Object(keys) = branch else { continue };
        for (key, value) in keys {
            schema.entry(key).or_insert(value);
        }
    }
    schema
}

fn constrains(branch: &Value) -> bool {
    branch.as_object().is_none_or(|keys| !keys.keys().all(|key| is_annotation(key)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn null_is_added_if_the_schema_rejects_it() {
        let cases = [
            (json!({"type": "string", "enum": ["a"]}), json!({"type": "string", "enum": ["a"]})),
            (json!({"type": "string", "enum": ["a", null]}), json!({"type": ["string", "null"], "enum": ["a", null]})),
            (json!({"type": ["string", "null"]}), json!({"type": ["string", "null"]})),
            (json!({"description": "d"}), json!({"description": "d"})),
            (
                json!({"$ref": "#/$defs/A", "description": "d"}),
                json!({"description": "d", "anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}),
            ),
        ];
        for (schema, expected) in cases {
            assert_eq!(Value::Object(make_nullable(schema.as_object().unwrap().clone())), expected);
        }
    }

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

    #[test]
    fn an_all_of_with_one_constraining_branch_is_unwrapped() {
        let cases = [
            (
                json!({"allOf": [{"$ref": "#/$defs/A"}, {"description": "here"}]}),
                json!({"description": "here", "$ref": "#/$defs/A"}),
            ),
            (
                json!({"description": "outer", "allOf": [{"type": "string", "description": "inner", "default": "x"}]}),
                json!({"description": "outer", "type": "string", "default": "x"}),
            ),
            (json!({"allOf": [{"description": "d"}]}), json!({"description": "d"})),
            (
                json!({"allOf": [{"allOf": [{"type": "a"}, {"type": "b"}]}]}),
                json!({"allOf": [{"type": "a"}, {"type": "b"}]}),
            ),
        ];
        for (schema, expected) in cases {
            assert_eq!(Value::Object(unwrap_single(schema.as_object().unwrap().clone())), expected);
        }
    }

    #[test]
    fn an_all_of_that_joins_something_stays() {
        for schema in [
            json!({"allOf": [{"$ref": "#/$defs/A"}, {"type": "object"}]}),
            json!({"type": "object", "allOf": [{"type": "object"}]}),
            json!({"allOf": [true]}),
            json!({"allOf": [false]}),
        ] {
            let unchanged = unwrap_single(schema.as_object().unwrap().clone());
            assert_eq!(Value::Object(unchanged), schema);
        }
    }
}
