//! Checks that must hold for every tool of any document.

use std::collections::HashSet;

use serde_json::Value;

use crate::dialect::{TranslatedSchema, translate};
use crate::{Operation, Toolset, ToolsetSettings};
use callwright_types::SchemaDialect;

/// Maximum length of a function name that providers accept.
const MAX_NAME: usize = 64;

/// Checks the properties of a toolset's tools as a whole.
pub(super) fn check_names(toolset: &Toolset) {
    let mut names = HashSet::new();
    for operation in &toolset.operations {
        let name = &operation.tool.name;
        let is_valid = (1..=MAX_NAME).contains(&name.len())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        assert!(is_valid, "{name}");
        assert!(names.insert(name), "two tools are called {name}");
    }
}

/// Checks the schema of one tool, in its original form and in every dialect.
pub(super) fn check_schema(operation: &Operation) {
    let label = operation.label();
    let schema = &operation.tool.parameters;
    let limit = ToolsetSettings::default().limits.schema_bytes;
    assert!(schema.to_string().len() <= limit, "{label}");
    compiles(schema, &label);
    check_bindings(operation);
    for dialect in [SchemaDialect::OpenaiStrict, SchemaDialect::Openai, SchemaDialect::Plain] {
        let translated = translate(schema, dialect);
        compiles(&translated.parameters, &format!("{label} in {dialect}"));
        assert_eq!(translated.parameters["type"], "object", "{label} in {dialect}");
        check_dialect(&translated, dialect, &label);
    }
}

/// Checks that a schema compiles. Patterns are excluded: one that the validator cannot run is still useful to a
/// model.
fn compiles(schema: &Value, label: &str) {
    let mut schema = schema.clone();
    visit(&mut schema, &mut |members| {
        for keyword in ["pattern", "patternProperties"] {
            members.shift_remove(keyword);
        }
    });
    if let Err(error) = jsonschema::options().build(&schema) {
        panic!("{label}: {error}: {schema}");
    }
}

/// Checks that every required argument is part of the schema or filled, and that every argument has a destination.
fn check_bindings(operation: &Operation) {
    let schema = &operation.tool.parameters;
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    for binding in operation.bindings.iter().filter(|binding| binding.required) {
        let is_filled = operation.idempotency_key.as_ref().is_some_and(|key| key.argument == binding.argument)
            || operation.fixed.iter().any(|fixed| fixed.argument == binding.argument);
        let is_asked_for = required.iter().any(|name| *name == binding.argument.as_str());
        assert!(is_asked_for || is_filled, "{}: {} is not required", operation.label(), binding.argument);
    }
    for name in required {
        assert!(schema["properties"].get(name.as_str().unwrap()).is_some(), "{}: {name}", operation.label());
    }
}

fn check_dialect(translated: &TranslatedSchema, dialect: SchemaDialect, label: &str) {
    let mut parameters = translated.parameters.clone();
    let written = parameters.to_string();
    // A strict schema lists every name as required, and has a branch for null.
    assert!(written.len() <= 3 * ToolsetSettings::default().limits.schema_bytes, "{label} in {dialect}");
    match dialect {
        SchemaDialect::OpenaiStrict if translated.strict => visit(&mut parameters, &mut |members| {
            if members.get("type").is_some_and(|name| name == "object") {
                let properties = members.get("properties").and_then(Value::as_object).unwrap();
                let required = members.get("required").and_then(Value::as_array).unwrap();
                assert_eq!(required.len(), properties.len(), "{label}: {written}");
                assert_eq!(members.get("additionalProperties"), Some(&Value::Bool(false)), "{label}: {written}");
            }
            for refused in ["oneOf", "allOf", "not", "if", "prefixItems"] {
                assert!(!members.contains_key(refused), "{label} has {refused}: {written}");
            }
        }),
        SchemaDialect::Plain => visit(&mut parameters, &mut |members| {
            assert!(!members.contains_key("$ref") && !members.contains_key("$defs"), "{label}: {written}");
        }),
        _ => {}
    }
}

/// Visits every object schema in `schema`, without mistaking properties for keywords.
fn visit(schema: &mut Value, each: &mut dyn FnMut(&mut serde_json::Map<String, Value>)) {
    let Some(members) = schema.as_object_mut() else { return };
    each(members);
    for (keyword, value) in members.iter_mut() {
        match keyword.as_str() {
            "properties" | "$defs" | "patternProperties" | "dependentSchemas" => {
                value.as_object_mut().into_iter().flatten().for_each(|(_, schema)| visit(schema, each));
            }
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                value.as_array_mut().into_iter().flatten().for_each(|schema| visit(schema, each));
            }
            "items"
            | "additionalProperties"
            | "not"
            | "if"
            | "then"
            | "else"
            | "contains"
            | "propertyNames"
            | "unevaluatedItems"
            | "unevaluatedProperties" => visit(value, each),
            _ => {}
        }
    }
}
