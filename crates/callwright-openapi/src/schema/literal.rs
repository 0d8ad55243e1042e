//! Converts values in a schema (`enum`, `default`) to the schema's type.
//!
//! In YAML, an unquoted `1.0`, `123` or `true` in the enumeration of a string is a number or boolean. Taken
//! literally, such a schema allows no value.

use serde_json::{Map, Number, Value, json};

use crate::tool::text::is_among;

/// Number of values above which an enumeration is too long to be shown completely.
pub(super) const MANY_VALUES: usize = 20;

/// The type names of JSON Schema.
const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "array", "object", "null"];

/// Non-standard type names, in lower case and without separators: types of programming languages, and formats in the
/// position of a type. Ambiguous names (`any`, `timestamp`, `json`) are not included.
const MEANT: [(&str, &str); 7] = [
    ("integer", "int int32 int64 long short bigint"),
    ("number", "float double decimal numeric"),
    ("boolean", "bool"),
    (
        "string",
        "str text char varchar date datetime time uuid guid email uri url byte bytes binary base64 password ipv4 ipv6",
    ),
    ("array", "list"),
    ("object", "map dict dictionary hash struct"),
    ("null", "none nil"),
];

/// Parses a `type`: one name, a list, or several names in one string. Also returns remarks about names that JSON
/// Schema does not define.
pub(super) fn types(value: &Value) -> (Vec<&'static str>, Vec<String>) {
    let (mut types, mut remarks) = (Vec::new(), Vec::new());
    let mut keep = |name| {
        if !types.contains(&name) {
            types.push(name);
        }
    };
    for name in names(value) {
        // YAML parses an unquoted `null` as a null value.
        match name.map_or(Ok("null"), |name| known_type(&name).ok_or(name)) {
            Ok(name) => keep(name),
            Err(name) => match meant_type(&name) {
                Some(meant) => {
                    remarks.push(format!("`{name}` is not a type of JSON Schema; read as `{meant}`"));
                    keep(meant);
                }
                None => remarks.push(format!("`{name}` is not a type of JSON Schema; left out")),
            },
        }
    }
    (types, remarks)
}

/// Returns the names in a `type`; `None` represents a null value in a list. `string | null` and `string, null` are
/// split into several names.
fn names(value: &Value) -> Vec<Option<String>> {
    match value {
        Value::Array(items) => {
            items.iter().flat_map(|item| if item.is_null() { vec![None] } else { names(item) }).collect()
        }
        Value::String(text) => text.split(['|', ',']).map(|name| Some(name.trim().to_owned())).collect(),
        other => vec![Some(other.to_string())],
    }
}

/// Returns the types in the `type` of a schema; an empty list means any type.
pub(super) fn types_of(schema: &Map<String, Value>) -> Vec<&'static str> {
    schema.get("type").map_or_else(Vec::new, |value| types(value).0)
}

/// Returns the value of a `type` keyword.
pub(super) fn type_value(types: &[&str]) -> Value {
    if let [only] = types { json!(only) } else { json!(types) }
}

/// Returns the JSON Schema type. Swagger's `file` is a binary string.
fn known_type(name: &str) -> Option<&'static str> {
    if name == "file" {
        return Some("string");
    }
    TYPES.into_iter().find(|known_type| known_type.eq_ignore_ascii_case(name))
}

fn meant_type(name: &str) -> Option<&'static str> {
    let plain: String = name.chars().filter(|c| !"-_ ".contains(*c)).map(|c| c.to_ascii_lowercase()).collect();
    MEANT.into_iter().find(|(_, names)| is_among(names, &plain)).map(|(meant, _)| meant)
}

/// Returns `value` if it has one of `types`, otherwise its conversion to one of them; `None` if there is none. With
/// empty `types`, any value fits.
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
    fn unknown_types_are_resolved() {
        assert_eq!(types(&json!(["string", "null", "string"])), (vec!["string", "null"], vec![]));
        assert_eq!(types(&json!("file")).0, ["string"]);
        assert_eq!(types(&json!("Integer")).0, ["integer"]);
        assert_eq!(types(&json!("any")), (vec![], vec!["`any` is not a type of JSON Schema; left out".to_owned()]));
        assert_eq!(types(&json!({})).1.len(), 1);
    }

    #[test]
    fn alternative_spellings_of_types_are_resolved() {
        for (written, meant) in [
            (json!("int"), vec!["integer"]),
            (json!("date-time"), vec!["string"]),
            (json!("Double"), vec!["number"]),
            (json!("bool"), vec!["boolean"]),
            (json!("dict"), vec!["object"]),
            (json!(["str", "int32"]), vec!["string", "integer"]),
        ] {
            let (parsed, remarks) = types(&written);
            assert_eq!(parsed, meant, "{written}");
            assert_eq!(remarks.len(), meant.len(), "{remarks:?}");
        }
        // A null value from YAML, and several types in one string.
        for (written, meant) in [
            (json!(["string", null]), vec!["string", "null"]),
            (json!("string | null"), vec!["string", "null"]),
            (json!("integer, string"), vec!["integer", "string"]),
        ] {
            assert_eq!(types(&written), (meant, vec![]), "{written}");
        }
    }
}
