//! Restricts empty and null values of arguments: some cannot be sent in a request, and some would change its target.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::keyword::is_annotation;
use super::literal::{type_value, types_of};
use super::nullable::or_else;

/// Handling of an argument's empty values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum EmptyValueRule {
    /// As the schema specifies.
    AsDescribed,
    /// An empty value is allowed regardless of the schema (OpenAPI 3.0.4 and Swagger 2.0, Parameter Object,
    /// `allowEmptyValue`).
    Allowed,
    /// An empty array or object is serialised as no parameter at all (RFC 6570 section 2.3).
    NoParameter,
    /// Like [`Self::NoParameter`], and an empty string is allowed only if the document lists it: a query parameter
    /// without `allowEmptyValue`.
    NoText,
    /// An empty path segment would change the path.
    OtherPath,
}

/// Keywords for the minimum size of each type.
const BOUNDS: [(&str, &str); 3] = [("minLength", "string"), ("minItems", "array"), ("minProperties", "object")];

/// Applies `empty` to the translated `schema` of an argument, and removes null if the argument is `required`.
pub(super) fn apply(empty: EmptyValueRule, required: bool, mut schema: Map<String, Value>) -> Map<String, Value> {
    if required && empty != EmptyValueRule::AsDescribed {
        refuse_null(&mut schema);
    }
    match empty {
        EmptyValueRule::AsDescribed => {}
        EmptyValueRule::Allowed => return empty_or(schema),
        EmptyValueRule::NoParameter | EmptyValueRule::NoText => {
            let types = types_of(&schema);
            if empty == EmptyValueRule::NoText && types.contains(&"string") && !names_empty_text(&schema) {
                at_least_one(&mut schema, "minLength");
            }
            for (bound, name) in BOUNDS.iter().filter(|(_, name)| *name != "string") {
                if required && types.contains(name) {
                    at_least_one(&mut schema, bound);
                }
            }
        }
        EmptyValueRule::OtherPath => {
            let types = types_of(&schema);
            for (bound, name) in BOUNDS {
                if types.is_empty() || types.contains(&name) {
                    at_least_one(&mut schema, bound);
                }
            }
        }
    }
    schema
}

/// Removes the type null, which is serialised as no parameter at all.
fn refuse_null(schema: &mut Map<String, Value>) {
    let types: Vec<&str> = types_of(schema).into_iter().filter(|name| *name != "null").collect();
    if !types.is_empty() && schema.get("type").is_some_and(Value::is_array) {
        schema.insert("type".to_owned(), type_value(&types));
    }
}

/// Whether the document has an `enum`, or lists the empty string as a value.
fn names_empty_text(schema: &Map<String, Value>) -> bool {
    ["const", "default"].iter().filter_map(|keyword| schema.get(*keyword)).any(|value| value == "")
        || schema.get("examples").and_then(Value::as_array).is_some_and(|values| values.contains(&"".into()))
        || schema.contains_key("enum")
}

fn at_least_one(schema: &mut Map<String, Value>, bound: &str) {
    if schema.get(bound).and_then(Value::as_u64).is_none_or(|bound| bound == 0) {
        schema.insert(bound.to_owned(), 1.into());
    }
}

/// Extends `schema` by the empty string.
fn empty_or(schema: Map<String, Value>) -> Map<String, Value> {
    let constrains = schema.keys().any(|keyword| keyword != "type" && !is_annotation(keyword));
    let allows_any_text = schema.get("type").is_none_or(|name| name == "string") && !constrains;
    if allows_any_text { schema } else { or_else(schema, json!({"const": ""})) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(empty: EmptyValueRule, required: bool, schema: Value) -> Value {
        Value::Object(apply(empty, required, schema.as_object().unwrap().clone()))
    }

    #[test]
    fn a_query_parameter_has_no_empty_text_unless_it_is_listed() {
        for (schema, expected) in [
            (json!({"type": "string"}), json!({"type": "string", "minLength": 1})),
            (json!({"type": "string", "minLength": 3}), json!({"type": "string", "minLength": 3})),
            (json!({"type": "string", "default": ""}), json!({"type": "string", "default": ""})),
            (json!({"type": "string", "enum": ["a"]}), json!({"type": "string", "enum": ["a"]})),
            (json!({"type": "integer"}), json!({"type": "integer"})),
            (json!({"type": "array"}), json!({"type": "array"})),
            (json!({}), json!({})),
        ] {
            assert_eq!(applied(EmptyValueRule::NoText, false, schema), expected);
        }
        assert_eq!(applied(EmptyValueRule::NoParameter, false, json!({"type": "string"})), json!({"type": "string"}));
    }

    #[test]
    fn required_parameters_are_not_empty() {
        let array = json!({"type": ["array", "null"]});
        assert_eq!(applied(EmptyValueRule::NoParameter, true, array.clone()), json!({"type": "array", "minItems": 1}));
        assert_eq!(applied(EmptyValueRule::NoParameter, false, array.clone()), array);
        assert_eq!(applied(EmptyValueRule::AsDescribed, true, array.clone()), array);
        let null = json!({"type": "null"});
        assert_eq!(applied(EmptyValueRule::NoParameter, true, null.clone()), null);
    }

    #[test]
    fn a_segment_of_the_path_is_never_empty() {
        assert_eq!(
            applied(EmptyValueRule::OtherPath, true, json!({})),
            json!({"minLength": 1, "minItems": 1, "minProperties": 1})
        );
        assert_eq!(
            applied(EmptyValueRule::OtherPath, true, json!({"type": "string", "minLength": 2})),
            json!({"type": "string", "minLength": 2})
        );
    }

    #[test]
    fn a_parameter_that_may_be_empty_is_empty_or_matches_its_schema() {
        let number = json!({"type": "integer", "description": "d"});
        assert_eq!(
            applied(EmptyValueRule::Allowed, false, number),
            json!({"description": "d", "anyOf": [{"type": "integer"}, {"const": ""}]})
        );
        assert_eq!(applied(EmptyValueRule::Allowed, false, json!({"type": "string"})), json!({"type": "string"}));
    }
}
