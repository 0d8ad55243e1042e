//! Interpretation of `type`, `nullable` and `enum` together, and of the type names that providers accept besides the
//! seven of JSON Schema.

use serde_json::{Map, Value};

/// Returns the JSON Schema type of a value; a number without a fraction is an integer.
pub fn type_of(value: &Value) -> &'static str {
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

/// Returns the type names in the value of the keyword `type`; `None` if it has another form.
pub fn type_names(types: &Value) -> Option<Vec<&str>> {
    match types {
        Value::String(name) => Some(vec![name]),
        Value::Array(names) => Some(names.iter().filter_map(Value::as_str).collect()),
        _ => None,
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
        let types = keywords.get("type").and_then(type_names);
        if types.is_some_and(|names| !names.contains(&"object")) {
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
        let known = match name {
            Value::String(name) => parse_type_name(name),
            Value::Null => Some("null"),
            _ => None,
        };
        let Some(known) = known else { return Vec::new() };
        if !types.contains(&known) {
            types.push(known);
        }
    }
    types
}

fn implied(keywords: &Map<String, Value>) -> Option<&'static str> {
    let implied = [("properties", "object"), ("items", "array"), ("prefixItems", "array")];
    implied.into_iter().find_map(|(keyword, name)| keywords.contains_key(keyword).then_some(name))
}

fn drop_contradiction(types: &mut Vec<&'static str>, keywords: &mut Map<String, Value>) {
    let Some(options) = keywords.get("enum").and_then(Value::as_array).filter(|_| !types.is_empty()) else { return };
    let mut actual = options.iter().map(type_of);
    if actual.any(|actual| types.contains(&actual) || (actual == "integer" && types.contains(&"number"))) {
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

/// Parses a type name: JSON Schema types in any case, and their equivalents in Python, C, Java, SQL and Gemini. `None` for
/// any type, and for an unknown name, which restricts nothing.
///
/// Ignores type arguments (`list[int]`, `Array<string>`): only the outer type counts.
fn parse_type_name(name: &str) -> Option<&'static str> {
    let outer = name.split(['[', '<', '(']).next().unwrap_or_default().trim();
    let known = match outer.to_ascii_lowercase().as_str() {
        "object" | "dict" | "dictionary" | "map" | "mapping" | "hash" | "hashmap" | "struct" | "record" => "object",
        // `int[]` has its brackets at the end.
        _ if name.trim_end().ends_with("[]") => "array",
        "array" | "list" | "arraylist" | "tuple" | "set" | "vector" | "sequence" => "array",
        "string" | "str" | "text" | "char" | "varchar" => "string",
        "integer" | "int" | "int32" | "int64" | "long" | "bigint" => "integer",
        "number" | "float" | "double" | "decimal" | "numeric" | "real" => "number",
        "boolean" | "bool" => "boolean",
        "null" | "none" | "nil" => "null",
        _ => return None,
    };
    Some(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_languages_are_read() {
        for (name, known) in [
            ("object", "object"),
            ("dict", "object"),
            ("Dict[str, int]", "object"),
            ("STRING", "string"),
            ("float", "number"),
            ("tuple", "array"),
            ("list[dict]", "array"),
            ("int[]", "array"),
            ("Bool", "boolean"),
            ("None", "null"),
        ] {
            assert_eq!(parse_type_name(name), Some(known), "{name}");
        }
    }

    #[test]
    fn what_means_nothing_judges_nothing() {
        for name in ["any", "", "date", "string|int", "file", "[]["] {
            assert_eq!(parse_type_name(name), None, "{name}");
        }
    }
}
