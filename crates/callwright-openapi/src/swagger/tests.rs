//! Tests of the conversion of Swagger 2.0 documents to tools.

use std::path::Path;

use serde_json::{Value, json};

use crate::load::toolset_of;
use crate::{
    BodyMember, BodyShape, Content, Encoding, Location, Operation, Requirement, SecurityScheme, Style, Toolset,
    ToolsetSettings,
};

fn toolset(mut root: Value) -> Toolset {
    root["swagger"] = json!("2.0");
    toolset_of(root, "api", Path::new("api.json"), &ToolsetSettings::default()).unwrap()
}

/// Returns the only operation of a document whose path `/x/{id}` has `operation` as `method`, and the remarks about
/// it.
fn operation_as(method: &str, operation: Value, mut more: Value) -> (Operation, Vec<String>) {
    more["host"] = json!("a.example.com");
    more["paths"] = json!({"/x": {method: operation}});
    let mut toolset = toolset(more);
    assert_eq!(toolset.report.operations_skipped, []);
    let remarks = toolset.report.simplified.into_iter().map(|simplified| simplified.what).collect();
    (toolset.operations.remove(0), remarks)
}

fn operation(operation: Value, more: Value) -> (Operation, Vec<String>) {
    operation_as("post", operation, more)
}

/// Returns a body of these members, each an argument of the same name.
fn members(names: &[&str]) -> BodyShape {
    let member = |name: &&str| BodyMember { argument: (*name).to_owned(), name: (*name).to_owned() };
    BodyShape::Properties(names.iter().map(member).collect())
}

fn reason_of(parameters: Value) -> String {
    let toolset = toolset(json!({"paths": {"/x": {"post": {"parameters": parameters}}}}));
    assert_eq!(toolset.report.operations_loaded, 0);
    toolset.report.operations_skipped[0].reason.clone()
}

#[test]
fn parameters_are_their_own_schemas() {
    let (operation, remarks) = operation(
        json!({"parameters": [
            {"name": "size", "in": "query", "type": "integer", "minimum": 1, "maximum": 9, "exclusiveMaximum": true,
             "default": 3, "required": true, "description": "How many"},
            {"name": "kind", "in": "header", "type": "string", "enum": ["a", "b"], "x-nullable": true},
            {"$ref": "#/parameters/Page"}
        ]}),
        json!({"parameters": {"Page": {"name": "page", "in": "query", "type": "string", "format": "uuid"}}}),
    );
    assert_eq!(remarks, Vec::<String>::new());
    assert_eq!(
        operation.tool.parameters["properties"],
        json!({
            "size": {"type": "integer", "minimum": 1, "exclusiveMaximum": 9, "default": 3, "description": "How many"},
            "kind": {"type": "string", "enum": ["a", "b"]},
            "page": {"type": "string", "format": "uuid", "minLength": 1}
        })
    );
    assert_eq!(operation.tool.parameters["required"], json!(["size"]));
    let locations: Vec<Location> = operation.bindings.iter().map(|binding| binding.location).collect();
    assert_eq!(locations, [Location::Query, Location::Header, Location::Query]);
}

#[test]
fn an_operation_replaces_parameters_of_its_path_and_its_body() {
    let toolset = toolset(json!({"paths": {"/x/{id}": {
        "parameters": [
            {"$ref": "#/parameters/id"},
            {"name": "a", "in": "query", "type": "string"},
            {"name": "old", "in": "body", "schema": {"type": "string"}}
        ],
        "post": {"parameters": [
            {"name": "a", "in": "query", "type": "integer"},
            {"name": "new", "in": "body", "required": true, "schema": {"type": "array", "items": {}}}
        ]}
    }}, "parameters": {"id": {"name": "id", "in": "path", "required": true, "type": "integer"}}}));
    let operation = &toolset.operations[0];
    let properties = &operation.tool.parameters["properties"];
    assert_eq!(properties["a"]["type"], "integer");
    assert_eq!(properties["body"]["type"], "array");
    assert_eq!(operation.tool.parameters["required"], json!(["id", "body"]));
    assert!(toolset.report.simplified.iter().all(|simplified| simplified.what.contains("server")));
}

#[test]
fn collection_formats_become_styles_in_every_location_and_level() {
    let array = |name: &str, location: &str, format: Value| {
        let mut parameter = json!({"name": name, "in": location, "type": "array", "items": {"type": "string"}});
        if !format.is_null() {
            parameter["collectionFormat"] = format;
        }
        parameter
    };
    let cases = [
        ("query", json!(null), Style::Form, false),
        ("query", json!("csv"), Style::Form, false),
        ("query", json!("ssv"), Style::SpaceDelimited, false),
        ("query", json!("tsv"), Style::TabDelimited, false),
        ("query", json!("pipes"), Style::PipeDelimited, false),
        ("query", json!("multi"), Style::Form, true),
        ("header", json!(null), Style::Simple, false),
        ("header", json!("pipes"), Style::PipeDelimited, false),
    ];
    for (location, format, style, explode) in cases {
        let (operation, remarks) = operation(json!({"parameters": [array("a", location, format.clone())]}), json!({}));
        assert_eq!(
            (operation.bindings[0].style, operation.bindings[0].explode),
            (style, explode),
            "{location} {format}"
        );
        assert!(remarks.is_empty(), "{remarks:?}");
    }
    for (location, format) in [("header", "multi"), ("query", "weird")] {
        let (operation, remarks) = operation(json!({"parameters": [array("a", location, json!(format))]}), json!({}));
        assert!(!operation.bindings[0].explode);
        assert!(remarks[0].contains("joined by commas"), "{remarks:?}");
    }
    let nested = json!({"name": "a", "in": "query", "type": "array", "collectionFormat": "pipes", "items": {
        "type": "array", "collectionFormat": "ssv", "items": {"type": "array", "items": {"type": "integer"}}}});
    let (operation, _) = self::operation(json!({"parameters": [nested]}), json!({}));
    assert_eq!(operation.bindings[0].style, Style::PipeDelimited);
    assert_eq!(operation.bindings[0].nested, [Style::SpaceDelimited, Style::Simple]);
}

#[test]
fn a_body_has_the_best_consumed_media_type() {
    let body = json!({"name": "pet", "in": "body", "required": true, "description": "The pet", "schema": {"$ref": "#/definitions/Pet"}});
    let pet = json!({"type": "object", "required": ["name"], "discriminator": "kind", "properties": {
        "name": {"type": "string"}, "kind": {"type": "string"}, "id": {"type": "integer", "readOnly": true}}});
    let more = json!({"consumes": ["application/xml", "application/json"], "definitions": {"Pet": pet}});
    let (operation, remarks) = operation(json!({"parameters": [body]}), more);
    assert!(remarks.is_empty(), "{remarks:?}");
    let binding = operation.body.unwrap();
    assert_eq!((binding.media_type.as_str(), binding.required), ("application/json", true));
    assert_eq!(binding.shape, members(&["name", "kind"]));
    assert_eq!(operation.tool.parameters["required"], json!(["name"]));

    let parameters = json!([{"name": "b", "in": "body", "schema": {"type": "object"}}]);
    let (operation, _) =
        self::operation(json!({"parameters": parameters, "consumes": []}), json!({"consumes": ["text/xml"]}));
    assert_eq!(operation.body.unwrap().media_type, "application/json");
}

#[test]
fn form_fields_become_a_form_and_files_make_it_multipart() {
    let text = json!({"name": "note", "in": "formData", "type": "string", "description": "n"});
    let tags = json!({"name": "tags", "in": "formData", "type": "array", "collectionFormat": "pipes", "items": {"type": "string"}});
    let file = json!({"name": "file", "in": "formData", "type": "file", "required": true});
    let (form, remarks) = operation(json!({"parameters": [text, tags]}), json!({}));
    assert!(remarks.is_empty(), "{remarks:?}");
    let body = form.body.unwrap();
    assert_eq!(body.media_type, "application/x-www-form-urlencoded");
    assert!(!body.required);
    let piped = Encoding { style: Some(Style::PipeDelimited), explode: Some(false), ..Encoding::default() };
    assert_eq!(body.encoding["tags"], piped);
    assert_eq!(form.tool.parameters["properties"]["note"], json!({"type": "string", "description": "n"}));

    let (upload, remarks) = operation(json!({"parameters": [text, file]}), json!({"consumes": ["application/json"]}));
    assert!(remarks[0].contains("multipart/form-data is used"), "{remarks:?}");
    let body = upload.body.unwrap();
    assert_eq!((body.media_type.as_str(), body.required), ("multipart/form-data", true));
    assert_eq!(body.encoding["file"].content_type.as_deref(), Some("application/octet-stream"));
    assert_eq!(body.encoding["file"].content, Content::File);
    let file = &upload.tool.parameters["properties"]["file"];
    assert_eq!((&file["type"], &file["format"]), (&json!("string"), &json!("binary")));
    assert!(file["description"].as_str().unwrap().contains("data URL"), "{file}");
}

#[test]
fn arrays_of_files_are_files() {
    let files = json!({"name": "files", "in": "formData", "type": "array", "items": {"type": "file"}});
    let (upload, _) = operation(json!({"parameters": [files]}), json!({}));
    let body = upload.body.unwrap();
    assert_eq!((body.media_type.as_str(), &body.encoding["files"].content), ("multipart/form-data", &Content::File));
}

#[test]
fn form_fields_with_the_name_of_a_parameter_get_their_own_body() {
    let (operation, _) = operation(
        json!({"parameters": [
            {"name": "id", "in": "query", "type": "integer"},
            {"name": "id", "in": "formData", "type": "string", "required": true}
        ]}),
        json!({}),
    );
    assert_eq!(operation.tool.parameters["properties"]["id"], json!({"type": "integer"}));
    let body = &operation.tool.parameters["properties"]["body"];
    assert_eq!(body["properties"], json!({"id": {"type": "string"}}));
    assert_eq!(body["required"], json!(["id"]));
    assert_eq!(operation.body.unwrap().shape, BodyShape::Argument("body".to_owned()));
}

#[test]
fn faulty_bodies_with_one_possible_meaning_are_accepted() {
    let field = |required: bool| json!({"name": "f", "in": "formData", "type": "string", "required": required});
    let body = |name: &str, required: bool| json!({"name": name, "in": "body", "required": required, "schema": {"type": "object", "properties": {"a": {}}}});
    let (fields, remarks) = operation_as("get", json!({"parameters": [field(true)]}), json!({}));
    assert!(fields.body.is_none() && fields.bindings[0].location == Location::Query);
    assert!(remarks[0].contains("sent in the query"), "{remarks:?}");

    let (both, remarks) = operation(json!({"parameters": [body("b", true), field(false)]}), json!({}));
    assert_eq!(both.body.unwrap().media_type, "application/json");
    assert!(remarks[0].contains("form fields are combined"), "{remarks:?}");
    let (both, _) = operation(json!({"parameters": [body("b", false), field(true)]}), json!({}));
    assert_eq!(both.body.unwrap().media_type, "application/x-www-form-urlencoded");
    assert!(reason_of(json!([body("b", true), field(true)])).contains("can have one of them"));

    let (several, remarks) = operation(json!({"parameters": [body("b", true), body("c", false)]}), json!({}));
    assert_eq!(several.body.unwrap().shape, members(&["b", "c"]));
    assert!(remarks[0].contains("members of one"), "{remarks:?}");
    let (typed, remarks) = operation(json!({"parameters": [{"name": "b", "in": "body", "type": "string"}]}), json!({}));
    assert_eq!(typed.tool.parameters["properties"]["body"], json!({"type": "string"}));
    assert!(remarks.is_empty(), "{remarks:?}");
}

#[test]
fn invalid_parameters_are_reported_with_a_reason() {
    assert!(reason_of(json!([{"name": "a", "type": "string"}])).contains("it has none"));
    assert!(reason_of(json!([{"name": "a", "in": "air", "type": "string"}])).contains("it has \"air\""));
    assert!(reason_of(json!([{"in": "query", "type": "string"}])).contains("has no name"));
    assert!(reason_of(json!([{"$ref": "#/parameters/none"}])).contains("has no target"));
    assert!(reason_of(json!("none")).contains("is not an array"));
    let toolset = toolset(json!({"paths": {"/x/{id}": {"get": {"parameters": [{"name": "id", "type": "integer"}]}}}}));
    assert_eq!(toolset.operations[0].bindings[0].location, Location::Path);
}

#[test]
fn servers_come_from_schemes_host_and_base_path() {
    let servers = |root: Value| {
        let mut root = root;
        let own = root.as_object_mut().unwrap().remove("own").unwrap_or_else(|| json!({}));
        root["paths"] = json!({"/x": {"get": own}});
        let toolset = toolset(root);
        let urls: Vec<String> = toolset.operations[0].servers.iter().map(ToString::to_string).collect();
        (urls, toolset.report.simplified.len())
    };
    let cases = [
        (
            json!({"host": "a.example.com", "basePath": "/v1", "schemes": ["http", "https", "ws"]}),
            vec!["https://a.example.com/v1", "http://a.example.com/v1"],
            0,
        ),
        (json!({"host": "a.example.com:8080"}), vec!["https://a.example.com:8080/"], 0),
        (json!({"host": "http://a.example.com/", "basePath": "v1/"}), vec!["http://a.example.com/v1/"], 0),
        (json!({"host": "a.example.com", "own": {"schemes": ["http"]}}), vec!["http://a.example.com/"], 0),
        (json!({"host": "a.example.com", "schemes": ["wss"]}), vec![], 2),
        (json!({"host": "{region}.example.com"}), vec![], 1),
        (json!({"basePath": "/v1"}), vec![], 1),
        (json!({}), vec![], 1),
    ];
    for (root, urls, remarks) in cases {
        let urls: Vec<String> = urls.into_iter().map(str::to_owned).collect();
        assert_eq!(servers(root.clone()), (urls, remarks), "{root}");
    }
}

#[test]
fn security_definitions_and_media_types_are_read() {
    let oauth = |flow: &str| json!({"type": "oauth2", "flow": flow, "authorizationUrl": "https://a.example.com/o", "tokenUrl": "https://a.example.com/t", "scopes": {}});
    let toolset = toolset(json!({
        "host": "a.example.com",
        "security": [{"key": []}],
        "produces": ["application/json"],
        "securityDefinitions": {
            "key": {"type": "apiKey", "in": "query", "name": "k"},
            "user": {"type": "basic"},
            "implicit": oauth("implicit"), "password": oauth("password"), "application": oauth("application"),
            "accessCode": oauth("accessCode")
        },
        "paths": {"/x": {"get": {"security": [{"user": []}], "produces": ["text/csv"]}, "put": {}}}
    }));
    assert_eq!(toolset.report.simplified, []);
    let key = SecurityScheme::ApiKey { location: Location::Query, name: "k".to_owned() };
    assert_eq!(toolset.security_schemes["key"], key);
    assert_eq!(toolset.security_schemes["user"], SecurityScheme::Basic);
    assert_eq!(toolset.security_schemes.len(), 6);
    assert_eq!(toolset.operations[0].security, [vec![Requirement::from("user")]]);
    assert_eq!(toolset.operations[1].security, [vec![Requirement::from("key")]]);
    assert_eq!(toolset.operations[0].produces, ["text/csv"]);
    assert_eq!(toolset.operations[1].produces, ["application/json"]);
}

#[test]
fn documentation_texts_have_positions() {
    let (operation, _) = operation(
        json!({
            "description": "Adds",
            "parameters": [
                {"name": "q", "in": "query", "type": "string", "enum": ["a", "b"], "description": "Which"},
                {"name": "pet", "in": "body", "description": "A pet", "schema": {"$ref": "#/definitions/Pet"}}
            ],
            "responses": {"404": {"$ref": "#/responses/Gone"}}
        }),
        json!({
            "definitions": {"Pet": {"properties": {"age": {"description": "In years"}}}},
            "responses": {"Gone": {"description": "No such pet", "schema": {"properties": {"code": {"enum": [3, 4]}}},
                "examples": {"application/json": {"code": 3, "description": "gone"}}}}
        }),
    );
    let texts: Vec<(&str, &str)> =
        operation.documentation.iter().map(|text| (text.text.as_str(), text.source.as_str())).collect();
    let expected = [
        ("Adds", "api.json#/paths/~1x/post/description"),
        ("404: No such pet", "api.json#/responses/Gone/description"),
        ("code: 3, 4", "api.json#/responses/Gone/schema/properties/code/enum"),
        (r#"404, for example: {"code":3,"description":"gone"}"#, "api.json#/responses/Gone/examples/application~1json"),
        ("q (query parameter): Which", "api.json#/paths/~1x/post/parameters/0/description"),
        ("q: a, b", "api.json#/paths/~1x/post/parameters/0/enum"),
        ("Request body: A pet", "api.json#/paths/~1x/post/parameters/1/description"),
        ("age: In years", "api.json#/definitions/Pet/properties/age/description"),
    ];
    assert_eq!(texts, expected);
}

#[test]
fn required_true_and_an_allowed_empty_value_are_understood() {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "string", "required": true}, "b": {"required": false}}});
    let body = json!({"name": "b", "in": "body", "schema": {"type": "array", "items": schema}});
    let flag = json!({"name": "flag", "in": "query", "type": "boolean", "allowEmptyValue": true, "description": "d"});
    let text = json!({"name": "text", "in": "query", "type": "string", "allowEmptyValue": true});
    let (operation, remarks) = operation(json!({"parameters": [flag, text, body]}), json!({}));
    let properties = &operation.tool.parameters["properties"];
    assert_eq!(properties["body"]["items"]["required"], json!(["a"]));
    assert_eq!(properties["body"]["items"]["properties"]["a"], json!({"type": "string"}));
    assert_eq!(properties["flag"], json!({"description": "d", "anyOf": [{"type": "boolean"}, {"const": ""}]}));
    assert_eq!(properties["text"], json!({"type": "string"}));
    assert_eq!(remarks.len(), 1, "{remarks:?}");
    assert!(
        remarks[0].starts_with("api.json #/paths/~1x/post/parameters/2/schema/items/properties/a: "),
        "{remarks:?}"
    );
}
