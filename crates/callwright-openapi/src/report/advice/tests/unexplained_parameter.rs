//! Tests of `unexplained-parameter`.

use super::{advice_on, advice_on_operation};
use serde_json::json;

#[test]
fn undescribed_arguments_are_reported_in_every_location() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}, "explained": {"type": "string", "description": "d"}}});
    let found = advice_on_operation(
        "unexplained-parameter",
        json!({
            "parameters": [
                {"name": "q", "in": "query", "schema": {"type": "string"}},
                {"name": "explained", "in": "header", "description": "d", "schema": {}},
                {"name": "referred", "in": "query", "schema": {"$ref": "#/components/schemas/Explained"}}
            ],
            "requestBody": {"required": true, "content": {"application/json": {"schema": schema}}}
        }),
    );
    let reported: Vec<(&str, &str)> =
        found.iter().map(|advice| (advice.message.split('`').nth(1).unwrap(), advice.at.as_str())).collect();
    let operation = "api.json #/paths/~1x~1{id}/post";
    let body = format!("{operation}/requestBody/content/application~1json/schema/properties/n");
    // `explained` is both a header and a property, so the body is one argument, which its properties explain.
    assert!(reported.contains(&("id", operation)), "{reported:?}");
    assert!(reported.contains(&("q", &format!("{operation}/parameters/0"))), "{reported:?}");
    assert!(!reported.iter().any(|(name, _)| ["explained", "referred", "body"].contains(name)), "{reported:?}");
    assert!(!reported.contains(&("n", &body)));
}

#[test]
fn shared_parameters_are_reported_once_at_their_own_position() {
    let shared = json!([{"$ref": "#/components/parameters/Page"}]);
    let found = advice_on(
        "unexplained-parameter",
        json!({"openapi": "3.0.0",
            "components": {"parameters": {"Page": {"name": "page", "in": "query", "schema": {"type": "integer"}}}},
            "paths": {"/a": {"get": {"parameters": shared}}, "/b": {"get": {"parameters": shared}}}}),
    );
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].at, "api.json #/components/parameters/Page");
}

#[test]
fn properties_and_form_fields_have_positions_of_their_own() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let body = json!({"required": true, "content": {"application/json": {"schema": schema}}});
    let found = advice_on(
        "unexplained-parameter",
        json!({"openapi": "3.0.0", "paths": {"/a": {"post": {"requestBody": body}}}}),
    );
    assert!(
        found[0].message.contains("body property `n`") && found[0].at.ends_with("/schema/properties/n"),
        "{found:?}"
    );
    let field = json!({"name": "n", "in": "formData", "type": "integer"});
    let found = advice_on(
        "unexplained-parameter",
        json!({"swagger": "2.0", "paths": {"/a": {"post": {"parameters": [field]}}}}),
    );
    assert_eq!(found[0].at, "api.json #/paths/~1a/post/parameters/0", "{found:?}");
}
