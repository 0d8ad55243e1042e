//! An exported toolset, read again, has the same tools.

use std::path::Path;

use serde_json::{Value, json};

use super::{Export, export};
use crate::load::toolset_of;
use crate::{Offline, Origin, Toolset, ToolsetSettings, load_from};

fn toolset(document: Value) -> Toolset {
    toolset_of(document, "api", Path::new("api.json"), &ToolsetSettings::default()).unwrap()
}

fn read_again(export: &Export) -> Toolset {
    let text = serde_json::to_vec(&export.document).unwrap();
    let origin = Origin::Bytes(Path::new("api.json"), &text);
    load_from("api", origin, &ToolsetSettings::default(), &Offline).unwrap()
}

/// Checks that everything that calls depend on is the same.
fn check_same(before: &Toolset, after: &Toolset) {
    assert_eq!(after.report.operations_skipped, []);
    assert_eq!((&after.title, &after.version), (&before.title, &before.version));
    assert_eq!(after.servers, before.servers);
    assert_eq!(after.security_schemes, before.security_schemes);
    assert_eq!(after.operations.len(), before.operations.len());
    for operation in &before.operations {
        let again = after.operation(operation.own_name()).expect("the tool exists");
        assert_eq!(again.tool.description, operation.tool.description);
        assert_eq!(again.tool.parameters, operation.tool.parameters, "{}", operation.label());
        assert_eq!((&again.method, &again.path), (&operation.method, &operation.path));
        assert_eq!(again.bindings, operation.bindings, "{}", operation.label());
        assert_eq!(again.body, operation.body, "{}", operation.label());
        assert_eq!(again.fixed, operation.fixed);
        assert_eq!(again.idempotency_key, operation.idempotency_key);
        assert_eq!((&again.servers, &again.security), (&operation.servers, &operation.security));
        assert_eq!((again.deprecated, &again.tags), (operation.deprecated, &operation.tags));
        assert_eq!(again.produces, operation.produces);
    }
}

/// Returns a document that uses most parts of OpenAPI 3.0.
fn full() -> Value {
    json!({
        "openapi": "3.0.3",
        "info": {"title": "Shop", "version": "2024-05-01"},
        "servers": [{"url": "https://{zone}.example.com/v1", "variables": {"zone": {"default": "eu"}}}],
        "security": [{"key": []}, {"machine": ["write", "read"]}],
        "paths": {
            "/orders/{order-id}": {
                "servers": [{"url": "https://orders.example.com"}],
                "get": {
                    "operationId": "show order",
                    "description": "Shows one. <b>Bold</b> & `<i>code</i>`, a &lt;b&gt; tag.",
                    "deprecated": true, "tags": ["orders"],
                    "parameters": [
                        {"name": "order-id", "in": "path", "required": true, "style": "matrix", "schema": {"type": "string"}},
                        {"name": "filter[state]", "in": "query", "description": "State & more.",
                            "schema": {"type": "array", "items": {"enum": ["open", null], "type": "string", "nullable": true}},
                            "explode": false},
                        {"name": "within", "in": "query", "style": "deepObject", "explode": true,
                            "schema": {"type": "object", "properties": {"from": {"type": "string", "format": "date"}}}},
                        {"name": "where", "in": "query", "content": {"application/json": {"schema": {"type": "object"}}}},
                        {"name": "q", "in": "query", "allowEmptyValue": true, "schema": {"type": "string"}},
                        {"name": "X-Trace", "in": "header", "schema": {"type": "string", "example": "abc"}},
                        {"name": "theme", "in": "cookie", "schema": {"type": "integer", "maximum": 5, "exclusiveMaximum": true}},
                        {"name": "api-version", "in": "query", "required": true, "schema": {"type": "string"}}
                    ],
                    "responses": {"200": {"description": "It.", "content": {"application/json": {}, "text/csv": {}}}}
                }
            },
            "/orders": {
                "post": {
                    "operationId": "createOrder", "summary": "Creates one.", "security": [],
                    "parameters": [{"name": "Idempotency-Key", "in": "header", "schema": {"type": "string", "maxLength": 30}}],
                    "requestBody": {"required": true, "content": {"application/json": {"schema": {
                        "type": "object", "required": ["kind", "first item"],
                        "properties": {"kind": {"enum": ["order"]}, "first item": {"$ref": "#/components/schemas/Node"},
                            "note": {"type": "string", "nullable": true}}}}}}
                },
                "put": {
                    "operationId": "replaceAll",
                    "requestBody": {"content": {"application/json": {"schema": {"type": "array", "items": {
                        "oneOf": [{"$ref": "#/components/schemas/Node"}, {"type": "integer", "minimum": 1}]}}}}}
                }
            },
            "/files": {
                "post": {
                    "operationId": "upload",
                    "requestBody": {"required": true, "content": {"multipart/form-data": {
                        "schema": {"type": "object", "required": ["file"], "properties": {
                            "file": {"type": "string", "format": "binary"}, "meta": {"type": "object"}}},
                        "encoding": {"file": {"contentType": "image/png"}}}}}
                }
            }
        },
        "components": {
            "schemas": {"Node": {"type": "object", "description": "A node.", "required": ["name"], "properties": {
                "name": {"type": "string"}, "next": {"$ref": "#/components/schemas/Node"}}, "additionalProperties": false}},
            "securitySchemes": {
                "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
                "user": {"type": "http", "scheme": "basic"},
                "token": {"type": "http", "scheme": "bearer"},
                "machine": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "https://auth.example.com/t",
                    "scopes": {}}}},
                "open": {"type": "openIdConnect", "openIdConnectUrl": "https://auth.example.com"}
            }
        }
    })
}

#[test]
fn a_toolset_is_the_same_after_export_and_reading() {
    let before = toolset(full());
    let exported = export(&before);
    assert_eq!(exported.losses, []);
    check_same(&before, &read_again(&exported));
}

#[test]
fn exporting_twice_yields_the_same_document() {
    let once = export(&toolset(full()));
    let twice = export(&read_again(&once));
    assert_eq!(serde_json::to_value(&once.document).unwrap(), serde_json::to_value(&twice.document).unwrap());
}

#[test]
fn every_schema_is_one_of_openapi_3_0() {
    let document = serde_json::to_string(&export(&toolset(full())).document).unwrap();
    for keyword in ["\"const\"", "\"$defs\"", "\"examples\"", "[\"string\",\"null\"]"] {
        assert!(!document.contains(keyword), "{keyword}: {document}");
    }
}

#[test]
fn what_openapi_3_0_cannot_express_is_reported() {
    let mut document = full();
    document["openapi"] = json!("3.1.0");
    document["paths"] = json!({"/a": {"post": {"operationId": "a", "requestBody": {"content": {"application/json": {
        "schema": {"type": "object", "patternProperties": {"^x": {"type": "string"}}, "examples": [{"x": 1}, {"x": 2}]}}}}}}});
    let losses = export(&toolset(document)).losses;
    let reported: Vec<&str> = losses.iter().map(|loss| loss.what.as_str()).collect();
    assert!(reported.iter().any(|what| what.contains("`patternProperties`")), "{reported:?}");
    assert!(reported.iter().any(|what| what.contains("`examples`")), "{reported:?}");
    assert!(losses.iter().all(|loss| loss.operation == "POST /a"));
}

#[test]
fn definitions_of_one_name_with_different_content_are_two_components() {
    let node = |extra: &str| {
        let mut properties = json!({"next": {"$ref": "#/components/schemas/Node"}});
        properties[extra] = json!({"type": "string"});
        json!({"type": "object", "properties": properties})
    };
    // `readOnly` makes the bodies differ from the query.
    let mut first = node("a");
    first["properties"]["b"] = json!({"type": "string", "readOnly": true});
    let document = json!({
        "openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "servers": [{"url": "https://a.example.com"}],
        "paths": {"/a/{n}": {"post": {"operationId": "a",
            "parameters": [{"name": "n", "in": "path", "required": true, "schema": {"$ref": "#/components/schemas/Node"}}],
            "requestBody": {"required": true, "content": {"application/json": {"schema": {"type": "array",
                "items": {"$ref": "#/components/schemas/Node"}}}}}}}},
        "components": {"schemas": {"Node": first}}
    });
    let before = toolset(document);
    check_same(&before, &read_again(&export(&before)));
}
