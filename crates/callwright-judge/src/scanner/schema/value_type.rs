//! Interpretation of `type`, `nullable` and `enum` together.

use serde_json::{Map, Value};

use super::type_names::{self, TypeName};

/// Returns the JSON Schema type of a value; a number without a fraction is an integer.
pub(crate) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() && number.as_f64().is_none_or(|float| float.fract() != 0.0) => {
            "number"
        }
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Keywords that restrict the type without naming it.
const APPLICATORS: [&str; 8] = ["$ref", "allOf", "anyOf", "oneOf", "not", "if", "enum", "const"];

/// Parses type names, applies `nullable`, infers an implied type, and resolves a contradiction between type and enum in
/// favour of the enum.
pub(super) fn settle(keywords: &mut Map<String, Value>) {
    let nullable = keywords.shift_remove("nullable") == Some(Value::Bool(true));
    let mut types = keywords.shift_remove("type").map(|value| read(&value)).unwrap_or_default();
    if types.is_empty() && !APPLICATORS.iter().any(|keyword| keywords.contains_key(*keyword)) {
        types.extend(implied(keywords));
    }
    drop_contradiction(&mut types, keywords);
    if nullable {
        admit_null(&mut types, keywords);
    }
    match types.as_slice() {
        [] => {}
        [one] => drop(keywords.insert("type".to_owned(), Value::from(*one))),
        _ => drop(keywords.insert("type".to_owned(), Value::from(types))),
    }
}

/// Removes a root type other than `object`, because arguments are always an object.
pub(super) fn admit_object(schema: &mut Value) {
    if let Some(keywords) = schema.as_object_mut() {
        let admits = match keywords.get("type") {
            Some(Value::String(name)) => name == "object",
            Some(Value::Array(names)) => names.iter().any(|name| name == "object"),
            _ => true,
        };
        if !admits {
            keywords.shift_remove("type");
        }
    }
}

/// Returns the named types; empty if any type is allowed.
fn read(value: &Value) -> Vec<&'static str> {
    let names: Vec<&Value> = match value {
        Value::Array(names) => names.iter().collect(),
        name => vec![name],
    };
    let mut types = Vec::new();
    for name in names {
        // YAML parses the type name `null` as a null value.
        match name
            .as_str()
            .map_or(if name.is_null() { TypeName::Known("null") } else { TypeName::Any }, type_names::read)
        {
            TypeName::Known(known) if !types.contains(&known) => types.push(known),
            TypeName::Known(_) => {}
            TypeName::Any => return Vec::new(),
        }
    }
    types
}

fn implied(keywords: &Map<String, Value>) -> Option<&'static str> {
    if keywords.contains_key("properties") {
        Some("object")
    } else if keywords.contains_key("items") || keywords.contains_key("prefixItems") {
        Some("array")
    } else {
        None
    }
}

fn drop_contradiction(types: &mut Vec<&'static str>, keywords: &mut Map<String, Value>) {
    let Some(options) = keywords.get("enum").and_then(Value::as_array).filter(|_| !types.is_empty()) else { return };
    let fits = |option: &Value| {
        let of = type_of(option);
        types.iter().any(|name| *name == of || (*name == "number" && of == "integer"))
    };
    if options.iter().any(fits) {
        return;
    }
    if types.contains(&"array") {
        // The options are meant for the items.
        keywords.shift_remove("enum");
    } else {
        types.clear();
    }
}

fn admit_null(types: &mut Vec<&'static str>, keywords: &mut Map<String, Value>) {
    if let Some(Value::Array(options)) = keywords.get_mut("enum")
        && !options.contains(&Value::Null)
    {
        options.push(Value::Null);
    }
    if !types.is_empty() {
        if !types.contains(&"null") {
            types.push("null");
        }
        return;
    }
    for branches in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = keywords.get_mut(branches) {
            branches.push(serde_json::json!({ "type": "null" }));
            return;
        }
    }
    if ["$ref", "allOf", "not", "if"].iter().any(|keyword| keywords.contains_key(*keyword)) {
        let inner = Value::Object(std::mem::take(keywords));
        keywords.insert("anyOf".to_owned(), Value::Array(vec![inner, serde_json::json!({ "type": "null" })]));
    }
}
