//! Common mistakes in real documents: the intended meaning is loaded, and the report lists the assumptions.

use std::path::Path;

use serde_json::{Value, json};

use super::{accepts, schema_of_body, toolset};
use crate::load::toolset_of;
use crate::{Location, Operation, Toolset, ToolsetSettings};

/// Returns the only operation of a document with this path, method and content, and the remarks.
fn only(path: &str, method: &str, operation: Value) -> (Operation, Vec<String>) {
    let toolset = toolset(json!({"servers": [{"url": "https://a.example.com"}], "paths": {path: {method: operation}}}));
    assert_eq!(toolset.report.operations_skipped, []);
    let remarks = toolset.report.simplified.iter().map(|simplified| simplified.what.clone()).collect();
    (toolset.operations.into_iter().next().unwrap(), remarks)
}

fn properties(operation: &Operation) -> &Value {
    &operation.tool.parameters["properties"]
}

#[test]
fn a_safe_operation_loses_only_its_invalid_parameter() {
    let list = json!([
        {"$ref": "#/components/parameters/none"}, {"in": "query"}, {"name": "a", "in": "air"}, 3, null,
        {"name": "kept", "in": "query", "schema": {"type": "string"}}
    ]);
    let (operation, remarks) = only("/x", "get", json!({"parameters": list}));
    assert_eq!(properties(&operation).as_object().unwrap().keys().collect::<Vec<_>>(), ["kept"]);
    assert_eq!(remarks.iter().filter(|what| what.ends_with("left out")).count(), 4, "{remarks:?}");
}

#[test]
fn a_broken_reference_like_a_template_expression_is_a_string() {
    let (operation, _) = only("/x/{id}", "delete", json!({"parameters": [{"$ref": "#/components/parameters/id"}]}));
    assert_eq!(properties(&operation)["id"], json!({"type": "string", "minLength": 1}));
}

#[test]
fn parameters_are_read_in_whatever_form_they_are_listed() {
    let parameter = json!({"name": "a", "in": "query", "schema": {"type": "integer"}});
    for list in [
        json!([parameter]),
        json!([[parameter]]),
        parameter.clone(),
        json!({"a": {"in": "query", "schema": {"type": "integer"}}}),
        json!({"$ref": "#/paths/~1x/x-list"}),
    ] {
        let paths = json!({"/x": {"post": {"parameters": list}, "x-list": [parameter]}});
        let toolset = toolset(json!({"paths": paths}));
        assert_eq!(*properties(&toolset.operations[0]), json!({"a": {"type": "integer"}}), "{list}");
    }
}

#[test]
fn parameters_of_swagger_2_in_openapi_3_are_read_as_such() {
    let (operation, _) = only(
        "/x",
        "post",
        json!({"parameters": [
            {"name": "n", "in": "query", "type": "integer", "required": "true"},
            {"name": "body", "in": "body", "required": true, "schema": {"type": "object", "properties": {"b": {"type": "string"}}}}
        ]}),
    );
    assert_eq!(*properties(&operation), json!({"n": {"type": "integer"}, "b": {"type": "string"}}));
    assert_eq!(operation.tool.parameters["required"], json!(["n"]));
    assert_eq!(operation.body.unwrap().media_type, "application/json");

    let (form, _) = only("/x", "post", json!({"parameters": [{"name": "f", "in": "formData", "type": "string"}]}));
    assert_eq!(form.body.as_ref().unwrap().media_type, "application/x-www-form-urlencoded");
    assert_eq!(*properties(&form), json!({"f": {"type": "string"}}));
}

#[test]
fn a_request_body_in_swagger_2_is_read_as_in_openapi_3() {
    let body = json!({"content": {"application/json": {"schema": {"type": "object", "properties": {"a": {"type": "string"}}}}}});
    let root = json!({"swagger": "2.0", "host": "a.example.com", "paths": {"/x": {"post": {"requestBody": body}}}});
    let toolset = toolset_of(root, "api", Path::new("api.json"), &ToolsetSettings::default()).unwrap();
    assert_eq!(*properties(&toolset.operations[0]), json!({"a": {"type": "string"}}));
}

#[test]
fn template_expressions_match_differently_spelt_parameters() {
    let integer = |name: &str| json!({"name": name, "in": "path", "required": true, "schema": {"type": "integer"}});
    for (path, names, read, slot) in [
        ("/pets/{pet_id}", vec!["petId"], "/pets/{pet_id}", "pet_id"),
        ("/pets/{id}", vec!["number"], "/pets/{id}", "id"),
        ("/pets/:number", vec!["number"], "/pets/{number}", "number"),
        ("/pets/{number:[0-9]+}", vec!["number"], "/pets/{number}", "number"),
        ("/pets/{number", vec!["number"], "/pets/{number}", "number"),
        ("/pets/{}", vec!["number"], "/pets/{number}", "number"),
    ] {
        let parameters: Vec<Value> = names.iter().map(|name| integer(name)).collect();
        let (operation, remarks) = only(path, "get", json!({"parameters": parameters}));
        assert_eq!((operation.path.as_str(), remarks.len()), (read, 1), "{path}: {remarks:?}");
        assert_eq!(properties(&operation)[names[0]]["type"], "integer", "{path}");
        let binding = &operation.bindings[0];
        assert_eq!((binding.location, binding.name.as_str()), (Location::Path, slot), "{path}");
    }
}

#[test]
fn a_body_without_its_media_type_or_schema_level_is_read() {
    let object = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    for body in [
        json!({"schema": object}),
        json!({"content": {"schema": object}}),
        json!({"content": {"json": {"schema": object}}}),
        json!({"content": {"application/json": object}}),
        json!({"content": {"application/json": {"schema": object}}}),
    ] {
        let (operation, _) = only("/x", "post", json!({"requestBody": body}));
        assert_eq!(*properties(&operation), json!({"a": {"type": "string"}}), "{body}");
        assert_eq!(operation.body.unwrap().media_type, "application/json", "{body}");
    }
}

#[test]
fn a_body_without_its_schema_accepts_any_value_with_a_remark() {
    let body = json!({"required": true, "content": {"application/json": {"schema": {"$ref": "#/none"}}}});
    let (operation, remarks) = only("/x", "post", json!({"requestBody": body}));
    assert!(accepts(&operation.tool.parameters, &json!({"body": [1, {"a": 2}]})));
    assert!(!accepts(&operation.tool.parameters, &json!({})), "it is still required");
    assert!(remarks.iter().any(|what| what.contains("has no target") && what.contains("any value")), "{remarks:?}");
}

#[test]
fn schemas_with_mistakes_are_repaired() {
    for (written, read) in [
        (json!("string"), json!({"type": "string"})),
        (json!({"type": "int", "minimum": "1"}), json!({"type": "integer", "minimum": 1})),
        (
            json!({"type": "array", "items": [{"type": "string"}]}),
            json!({"type": "array", "items": {"type": "string"}}),
        ),
        (json!({"type": "array", "enum": ["a"]}), json!({"type": "array", "items": {"enum": ["a"]}})),
        (
            json!({"type": "object", "additionalProperties": "false"}),
            json!({"type": "object", "additionalProperties": false}),
        ),
        (json!({"allOf": {"type": "string"}}), json!({"type": "string"})),
        (
            json!({"anyOf": [{"type": "string"}, {"type": null}]}),
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ),
        (json!({"type": "string", "pattern": "/^a$/"}), json!({"type": "string", "pattern": "^a$"})),
        (json!({"type": "string", "enum": ["a", "a"]}), json!({"type": "string", "enum": ["a"]})),
        (json!({"$ref": "#/definitions/Pet"}), json!({"type": "string", "maxLength": 9})),
    ] {
        let body = json!({"type": "object", "properties": {"x": written}});
        let schema = schema_of_body(body, json!({"Pet": {"type": "string", "maxLength": 9}}));
        assert_eq!(schema["properties"]["x"], read, "{written}");
    }
}

#[test]
fn a_closed_object_whose_properties_cannot_be_read_is_open() {
    let inner = json!({"type": "object", "properties": ["a"], "additionalProperties": false});
    let schema = schema_of_body(json!({"type": "object", "properties": {"x": inner}}), json!({}));
    assert!(accepts(&schema, &json!({"x": {"a": 1}})), "{schema}");
}

#[test]
fn alternatives_accept_the_same_values_without_discriminator() {
    // One alternative cannot be resolved and accepts any value. `oneOf` would then reject every pet.
    let one_of = json!({"oneOf": [{"$ref": "#/components/schemas/Pet"}, {"$ref": "#/components/schemas/None"}]});
    let not = json!({"not": {"$ref": "#/components/schemas/None"}});
    let pet = json!({"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}});
    let body = json!({"type": "object", "properties": {"pet": one_of, "thing": not}});
    let schema = schema_of_body(body, json!({"Pet": pet}));
    assert!(accepts(&schema, &json!({"pet": {"name": "a"}, "thing": 5})), "{schema}");
}

#[test]
fn alternatives_nested_too_deeply_accept_the_same_values() {
    let leaf = |name: &str| json!({"type": "object", "required": [name], "properties": {name: {"type": "object", "properties": {"v": {"type": "string"}}}}});
    let mut schema = json!({"oneOf": [leaf("a"), leaf("b")]});
    let mut value = json!({"a": {"v": "x"}});
    for _ in 0..4 {
        schema = json!({"type": "object", "properties": {"in": schema}});
        value = json!({"in": value});
    }
    let mut settings = ToolsetSettings::default();
    for depth in 1..10 {
        settings.limits.schema_depth = depth;
        let root = json!({"openapi": "3.0.0", "paths": {"/x": {"post": {"requestBody": {"required": true,
            "content": {"application/json": {"schema": schema}}}}}}});
        let toolset = toolset_of(root, "api", Path::new("api.json"), &settings).unwrap();
        let parameters = &toolset.operations[0].tool.parameters;
        assert!(accepts(parameters, &value), "{depth}: {parameters}");
    }
}

#[test]
fn an_object_instead_of_the_security_list_requires_credentials() {
    let toolset: Toolset = toolset(json!({
        "security": {"key": []},
        "paths": {"/x": {"get": {}}},
        "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "Header", "name": "X-Key"}}}
    }));
    assert_eq!(toolset.operations[0].security, [vec!["key".into()]]);
}
