//! Values that stand in a schema (`enum`, `default`), made to fit the type beside them.
//!
//! In YAML an unquoted `1.0`, `123` or `true` in the enumeration of a string is a number or a boolean. Taken literally, such a
//! schema allows nothing at all.

use serde_json::{Map, Number, Value, json};

/// The names of JSON Schema's types.
const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "array", "object", "null"];

/// The types that a `type` names, one or several, without those that JSON Schema does not know; and those.
pub(super) fn types(value: &Value) -> (Vec<&'static str>, Vec<String>) {
    let names: Vec<&Value> = value.as_array().map_or_else(|| vec![value], |names| names.iter().collect());
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for name in names {
        match name.as_str().and_then(known_type) {
            Some(name) if known.contains(&name) => {}
            Some(name) => known.push(name),
            None => unknown.push(name.to_string()),
        }
    }
    (known, unknown)
}

/// The types that a schema names in `type`; none: any.
pub(super) fn types_of(schema: &Map<String, Value>) -> Vec<&'static str> {
    schema.get("type").map_or_else(Vec::new, |value| types(value).0)
}

/// A value for `type`.
pub(super) fn type_value(types: &[&str]) -> Value {
    if let [only] = types { json!(only) } else { json!(types) }
}

/// Swagger's `file` is a string of bytes; everything else that is written wrong stays unknown.
fn known_type(name: &str) -> Option<&'static str> {
    if name == "file" {
        return Some("string");
    }
    TYPES.into_iter().find(|known| known.eq_ignore_ascii_case(name))
}

/// `value` as one of `types`: itself, or what it was meant to be; `None` where it is neither. No types: anything goes.
pub(super) fn fit(value: &Value, types: &[&str]) -> Option<Value> {
    if types.is_empty() || types.iter().any(|name| is_of(value, name)) {
        return Some(value.clone());
    }
    types.iter().find_map(|name| converted(value, name))
}

fn is_of(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
        Value::Number(number) => name == "number" || (name == "integer" && is_integer(number)),
    }
}

fn is_integer(number: &Number) -> bool {
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn converted(value: &Value, name: &str) -> Option<Value> {
    match (name, value) {
        ("string", Value::Number(_) | Value::Bool(_)) => Some(Value::String(value.to_string())),
        ("integer" | "number", Value::String(text)) => {
            text.trim().parse::<Number>().ok().map(Value::Number).filter(|number| is_of(number, name))
        }
        ("boolean", Value::String(text)) => text.trim().parse().ok().map(Value::Bool),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_converted_only_where_their_type_does_not_fit() {
        let cases = [
            (json!(1.0), vec!["string"], Some(json!("1.0"))),
            (json!(true), vec!["string"], Some(json!("true"))),
            (json!("7"), vec!["integer"], Some(json!(7))),
            (json!("7.5"), vec!["integer"], None),
            (json!("7.5"), vec!["number"], Some(json!(7.5))),
            (json!("no"), vec!["boolean"], None),
            (json!(null), vec!["string"], None),
            (json!(null), vec!["string", "null"], Some(json!(null))),
            (json!(3), vec!["string", "integer"], Some(json!(3))),
            (json!([1]), vec![], Some(json!([1]))),
        ];
        for (value, types, expected) in cases {
            assert_eq!(fit(&value, &types), expected, "{value} as {types:?}");
        }
    }

    #[test]
    fn unknown_types_are_told_apart() {
        assert_eq!(types(&json!(["string", "null", "string"])), (vec!["string", "null"], vec![]));
        assert_eq!(types(&json!("file")).0, ["string"]);
        assert_eq!(types(&json!("Integer")).0, ["integer"]);
        assert_eq!(types(&json!("date")), (vec![], vec!["\"date\"".to_owned()]));
        assert_eq!(types(&json!({})).1.len(), 1);
    }
}
