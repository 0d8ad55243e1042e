//! Tests of the guarantees extracted from response schemas.

use serde_json::{Value, json};

use super::{operation, toolset};
use callwright_types::promise::{Promise, PromisedShape, PromisedValue};

/// Returns the guarantees of an operation that responds with status 200 and a JSON value of this schema.
fn promised(schema: Value) -> Option<PromisedValue> {
    let schemas = json!({
        "Room": {"type": "object", "required": ["id", "secret"],
            "properties": {"id": {}, "secret": {"type": "string", "writeOnly": true}}},
        "Loop": {"allOf": [{"$ref": "#/components/schemas/Loop"}]}
    });
    let promises = of_responses(json!({"200": answer("application/json", schema)}), schemas);
    promises.into_iter().next().and_then(|promise| promise.value)
}

fn of_responses(responses: Value, schemas: Value) -> Vec<Promise> {
    operation(json!({"responses": responses}), json!({"schemas": schemas})).promises
}

fn answer(media_type: &str, schema: Value) -> Value {
    json!({"description": "The room.", "content": {media_type: {"schema": schema}}})
}

fn object(required: &[&str]) -> PromisedShape {
    let required = required.iter().map(|name| (*name).to_owned()).collect();
    PromisedShape::Object { required, least: 0, wrapped: None }
}

#[test]
fn required_members_of_all_parts_exclude_write_only_ones() {
    let room = json!({"$ref": "#/components/schemas/Room"});
    let plain = |shape| Some(PromisedValue { nullable: false, shape });
    assert_eq!(promised(room.clone()), plain(object(&["id"])));
    let parts = json!({"allOf": [room, {"required": ["name", "id"], "properties": {"name": {}}}]});
    assert_eq!(promised(parts), plain(object(&["id", "name"])));
    assert_eq!(promised(json!({"type": "array", "minItems": 2})), plain(PromisedShape::Array { least: 2 }));
    let least = PromisedShape::Object { required: Vec::new(), least: 1, wrapped: None };
    assert_eq!(promised(json!({"type": "object", "minProperties": 1})), plain(least));
    let nullable = json!({"type": ["object", "null"], "required": ["id"]});
    assert_eq!(promised(nullable), Some(PromisedValue { nullable: true, shape: object(&["id"]) }));
}

#[test]
fn a_required_wrapper_is_searched() {
    let held = json!({"type": "array", "minItems": 1});
    let wrapped = |required: Value| json!({"type": "object", "required": required, "properties": {"data": held}});
    let PromisedShape::Object { wrapped: Some((name, value)), .. } = promised(wrapped(json!(["data"]))).unwrap().shape
    else {
        panic!("a wrapper");
    };
    assert_eq!((name.as_str(), value.shape), ("data", PromisedShape::Array { least: 1 }));
    assert_eq!(promised(wrapped(json!([]))).unwrap().shape, object(&[]));
}

#[test]
fn an_open_schema_promises_nothing() {
    let open = [
        json!({}),
        json!({"type": "string"}),
        json!({"oneOf": [{"type": "object", "required": ["id"]}, {"type": "string"}]}),
        json!({"type": "object", "required": ["id"], "anyOf": [{}]}),
        json!({"type": ["object", "array"], "required": ["id"]}),
        json!({"allOf": [{"type": "object"}, {"type": "array"}]}),
        json!({"$ref": "#/components/schemas/None"}),
        json!({"$ref": "#/components/schemas/Loop"}),
        json!(17),
    ];
    for schema in open {
        assert_eq!(promised(schema.clone()), None, "{schema}");
    }
}

#[test]
fn answers_of_several_kinds_statuses_and_by_choice_promise_less() {
    let room = json!({"type": "object", "required": ["id"]});
    let both = json!({"200": {"content": {"application/json": {"schema": room}, "text/html": {}}}});
    let promises = of_responses(both, json!({}));
    assert!(!promises[0].only_json && promises[0].value.is_some());
    let versions = json!({"200": {"content": {
        "application/json": {"schema": room}, "application/vnd.v2+json": {"schema": {"type": "array"}}}}});
    assert_eq!(of_responses(versions, json!({}))[0].value, None);
    let statuses = json!({"2XX": answer("application/json", json!({})), "201": answer("text/json", room.clone()),
        "204": answer("application/json", room.clone()), "default": answer("application/json", room.clone())});
    let statuses: Vec<_> = of_responses(statuses, json!({})).into_iter().map(|promise| promise.statuses).collect();
    assert_eq!(statuses, [201..=201, 200..=203]);
    assert_eq!(of_responses(json!({"200": answer("*/*", room.clone())}), json!({})), []);
    let chosen = operation(
        json!({"parameters": [{"name": "$select", "in": "query", "schema": {"type": "string"}}],
            "responses": {"200": answer("application/json", room.clone())}}),
        json!({}),
    );
    assert_eq!((chosen.promises[0].only_json, &chosen.promises[0].value), (true, &None));
    let head = json!({"/x": {"head": {"responses": {"200": answer("application/json", room)}}}});
    assert_eq!(toolset(json!({"paths": head})).operations[0].promises, []);
}
