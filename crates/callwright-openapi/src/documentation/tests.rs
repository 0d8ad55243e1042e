use std::path::Path;

use serde_json::{Value, json};

use super::*;
use crate::ApiDocument;
use crate::load::operation_list::operations;
use crate::report::LoadNotes;
use crate::request::parameter_list::lists;

fn texts_of(operation: Value, more: Value) -> Vec<(String, String)> {
    let mut root = json!({"openapi": "3.0.0", "paths": {"/pets": {"get": operation}}});
    root.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let document = ApiDocument::new(root, Path::new("shop/pets.yaml")).unwrap();
    let found = operations(&document).0.remove(0);
    let parameters = lists(&found, &mut LoadNotes::default()).unwrap().parameters;
    let texts = of_operation(&found.path_item, &found.operation, &parameters, None);
    texts.into_iter().map(|text| (text.text, text.source)).collect()
}

fn has(texts: &[(String, String)], text: &str, source: &str) {
    let expected = (text.to_owned(), source.to_owned());
    assert!(texts.contains(&expected), "{expected:?} is not in {texts:#?}");
}

#[test]
fn parts_of_an_operation_are_documented_with_their_positions() {
    let texts = texts_of(
        json!({
            "description": "Lists pets.",
            "tags": ["pets"],
            "parameters": [{"name": "limit", "in": "query", "description": "At most 100.", "schema": {"enum": [10, 100]}}],
            "requestBody": {"$ref": "#/components/requestBodies/Filter"},
            "responses": {"200": {"description": "OK"}}
        }),
        json!({
            "tags": [{"name": "pets", "description": "All about pets"}, {"name": "cats", "description": "Not this"}],
            "components": {"requestBodies": {"Filter": {
                "description": "What to show",
                "content": {"application/json": {"schema": {"properties": {"age": {"description": "In years"}}}}}
            }}}
        }),
    );
    has(&texts, "Lists pets.", "pets.yaml#/paths/~1pets/get/description");
    has(&texts, "limit (query parameter): At most 100.", "pets.yaml#/paths/~1pets/get/parameters/0/description");
    has(&texts, "limit: 10, 100", "pets.yaml#/paths/~1pets/get/parameters/0/schema/enum");
    has(&texts, "Request body: What to show", "pets.yaml#/components/requestBodies/Filter/description");
    let age = "pets.yaml#/components/requestBodies/Filter/content/application~1json/schema/properties/age/description";
    has(&texts, "age: In years", age);
    has(&texts, "All about pets", "pets.yaml#/tags/0/description");
    assert!(!texts.iter().any(|(text, _)| text == "Not this"));
}

#[test]
fn errors_are_documented_from_schemas_examples_and_extensions() {
    let texts = texts_of(
        json!({
            "x-errors": [{"code": 7, "message": "gone for good"}, "plain text"],
            "responses": {
                "200": {"description": "OK", "content": {"application/json": {"schema": {"properties": {
                    "ok": {"description": "does not mention faults"},
                    "error": {"description": "why not", "enum": ["not_authed", "limited"]}
                }}}}},
                "404": {"description": "No such pet", "content": {"application/json": {
                    "schema": {"$ref": "#/components/schemas/Error"},
                    "example": {"code": 3, "message": "no pet 9"},
                    "examples": {"old": {"summary": "An old pet", "value": "too old"}}
                }}}
            }
        }),
        json!({"components": {"schemas": {"Error": {
            "description": "An error",
            "properties": {
                "code": {"enum": [3, 4], "x-enum-descriptions": ["not there", "not yours"]},
                "cause": {"$ref": "#/components/schemas/Error"}
            }
        }}}}),
    );
    has(&texts, "`7`: gone for good", "pets.yaml#/paths/~1pets/get/x-errors/0");
    has(&texts, "plain text", "pets.yaml#/paths/~1pets/get/x-errors/1");
    has(&texts, "404: No such pet", "pets.yaml#/paths/~1pets/get/responses/404/description");
    has(&texts, "An error", "pets.yaml#/components/schemas/Error/description");
    has(&texts, "4: not yours", "pets.yaml#/components/schemas/Error/properties/code/x-enum-descriptions");
    let all: Vec<&str> = texts.iter().map(|(text, _)| text.as_str()).collect();
    assert!(all.contains(&r#"404, for example: {"code":3,"message":"no pet 9"}"#));
    assert!(all.contains(&"404, for example: too old") && all.contains(&"old: An old pet"));
    assert!(all.contains(&"error: not_authed, limited"));
    assert!(!all.iter().any(|text| text.contains("does not mention faults")));
}

#[test]
fn code_tables_of_any_form_define_their_codes() {
    let texts = texts_of(
        json!({
            "x-return-codes": {"E7": "gone", "E8": {"errorCode": 8, "description": "late", "retry": true}},
            "x-codeSamples": [{"lang": "curl", "source": "curl x"}],
            "responses": {"400": {"description": "Wrong", "content": {"application/json": {"schema": {"properties": {
                "error": {"oneOf": [{"const": "E1", "description": "no such pet"}, {"const": 2, "title": "pet is shy"}]}
            }}}}}}
        }),
        json!({}),
    );
    let all: Vec<&str> = texts.iter().map(|(text, _)| text.as_str()).collect();
    for expected in ["E7: gone", "E8: `8`: late, retry: true", "`E1`: no such pet", "`2`: pet is shy"] {
        assert!(all.contains(&expected), "{expected} is not in {all:#?}");
    }
    assert!(!all.iter().any(|text| text.contains("curl")), "{all:#?}");
}

#[test]
fn texts_are_bounded_in_number() {
    let properties: serde_json::Map<String, Value> =
        (0..2000).map(|n| (format!("p{n}"), json!({"description": "d"}))).collect();
    let schema = json!({"content": {"application/json": {"schema": {"properties": properties}}}});
    let texts = texts_of(json!({"requestBody": schema}), json!({}));
    assert_eq!(texts.len(), 400);
}

#[test]
fn properties_of_the_other_direction_are_not_documented() {
    let schema = json!({"properties": {
        "secret": {"writeOnly": true, "description": "Never in an answer"}, "id": {"readOnly": true, "description": "Never in a request"}}});
    let content = json!({"application/json": {"schema": schema}});
    let texts = texts_of(
        json!({"requestBody": {"content": content}, "responses": {"400": {"description": "Bad", "content": content}}}),
        json!({}),
    );
    let documents =
        |at: &str, part: &str| texts.iter().any(|(text, source)| source.contains(at) && text.contains(part));
    assert!(
        documents("requestBody", "Never in an answer") && !documents("requestBody", "Never in a request"),
        "{texts:#?}"
    );
    assert!(
        documents("responses", "Never in a request") && !documents("responses", "Never in an answer"),
        "{texts:#?}"
    );
}
