//! Translates `nullable` of OpenAPI 3.0 to JSON Schema.

use serde_json::{Map, Value, json};

use super::keyword::is_annotation;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
