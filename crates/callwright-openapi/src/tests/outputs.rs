//! Tests of response fields and links.

use serde_json::json;

use super::toolset;
use callwright_types::OutputLink;

#[test]
fn fields_of_successful_responses_name_their_schema() {
    let user = json!({"type": "object", "properties": {"id": {"type": "string"}, "boss": {"$ref": "#/components/schemas/User"}}});
    let answer = |schema| json!({"content": {"application/json": {"schema": schema}}});
    let list = json!({"responses": {"404": answer(json!({"type": "object", "properties": {"error": {}}})),
        "200": answer(json!({"type": "array", "items": {"$ref": "#/components/schemas/User"}}))}});
    let api =
        toolset(json!({"paths": {"/users": {"get": list, "delete": {"responses": {"204": {"description": "Gone."}}}}},
        "components": {"schemas": {"User": user}}}));
    let outputs = &api.operations[0].outputs;
    let fields: Vec<(&str, Option<&str>)> =
        outputs.iter().take(3).map(|field| (field.pointer.as_str(), field.owner.as_deref())).collect();
    assert_eq!(fields, [("", None), ("/0/id", Some("User")), ("/0/boss", Some("User"))]);
    assert!(outputs.iter().any(|field| field.pointer == "/0/boss/id"), "a schema that contains itself ends at a depth");
    assert!(api.operations[1].outputs.is_empty());
}

#[test]
fn operations_share_the_fields_of_one_schema() {
    let answer = json!({"responses": {"200": {"$ref": "#/components/responses/One"}}});
    let one = json!({"description": "", "content": {"application/json": {"schema": {"properties": {"id": {}}}}}});
    let api = toolset(
        json!({"paths": {"/a": {"get": answer}, "/b": {"get": answer}}, "components": {"responses": {"One": one}}}),
    );
    assert!(std::sync::Arc::ptr_eq(&api.operations[0].outputs, &api.operations[1].outputs));
}

#[test]
fn links_lead_from_a_value_to_an_argument() {
    let links = json!({
        "byId": {"operationId": "getUser", "parameters": {"id": "$response.body#/id"}},
        "byRef": {"operationRef": "#/paths/~1users~1{id}/get", "parameters": {"path.id": "$response.body#/boss/id"}},
        "fromRequest": {"operationId": "getUser", "parameters": {"id": "$request.query.id"}},
        "nowhere": {"operationId": "none", "parameters": {"id": "$response.body#/id"}},
        "unknown": {"operationId": "getUser", "parameters": {"name": "$response.body#/id"}},
        "broken": 7,
    });
    let create = json!({"operationId": "createUser", "responses": {"201": {"description": "", "links": links}}});
    let get = json!({"operationId": "getUser", "parameters": [
        {"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}], "responses": {}});
    let api = toolset(json!({"paths": {"/users": {"post": create}, "/users/{id}": {"get": get}}}));
    let link = |pointer: &str| OutputLink { tool: "getUser".into(), argument: "id".into(), pointer: pointer.into() };
    assert_eq!(api.operations[0].links, [link("/id"), link("/boss/id")]);
    assert!(api.operations[1].links.is_empty());
}
