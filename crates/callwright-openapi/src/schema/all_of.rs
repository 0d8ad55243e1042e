//! Unwraps an `allOf` with a single constraining branch.
//!
//! OpenAPI 3.0 ignores siblings of a `$ref`, so authors wrap it: `allOf: [{$ref: X}], description: ...`. An
//! equivalent schema without `allOf` is easier to process for models and validators.

use serde_json::{Map, Value};

use super::keyword::is_annotation;

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
