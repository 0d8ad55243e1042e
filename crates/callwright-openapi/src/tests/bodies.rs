//! Tests of request bodies: media type, arguments, and encoding of parts.

use serde_json::{Value, json};

use super::operation;
use crate::{BodyBinding, BodyFormat, BodyShape, Content, Operation};

fn with_content(content: Value) -> Operation {
    let file = json!({"type": "string", "format": "binary"});
    let pet = json!({"type": "object", "xml": {"name": "pet"}, "properties": {"id": {"type": "integer", "xml": {"attribute": true}}}});
    let body = json!({"required": true, "content": content});
    operation(json!({"requestBody": body}), json!({"schemas": {"File": file, "Pet": pet}}))
}

fn body(content: Value) -> BodyBinding {
    with_content(content).body.unwrap()
}

fn description(operation: &Operation, argument: &str) -> String {
    operation.tool.parameters["properties"][argument]["description"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn files_of_a_multipart_body_are_described_and_recognised() {
    let meta = json!({"type": "object", "properties": {"a": {}}});
    let schema = json!({"type": "object", "required": ["file"], "properties": {
        "file": {"$ref": "#/components/schemas/File"},
        "photos": {"type": "array", "items": {"$ref": "#/components/schemas/File"}, "description": "Photos."},
        "data": {"type": "string", "format": "byte"},
        "meta": meta, "xml": meta, "note": {"type": "string"}
    }});
    let fixed = json!({"schema": {"type": "string", "enum": ["1"]}});
    let encoding = json!({
        "photos": {"contentType": "image/png, image/jpeg", "headers": {"X-A": fixed, "X-B": {"schema": {}}, "Content-Type": fixed}},
        "xml": {"contentType": "application/xml"}
    });
    let operation = with_content(json!({"multipart/form-data": {"schema": schema, "encoding": encoding}}));
    let body = operation.body.as_ref().unwrap();
    assert_eq!((body.format, body.media_type.as_str()), (BodyFormat::Multipart, "multipart/form-data"));
    assert_eq!(body.encoding["file"].content, Content::File);
    assert_eq!(body.encoding["photos"].content, Content::File);
    assert_eq!(body.encoding["photos"].content_type.as_deref(), Some("image/png, image/jpeg"));
    assert_eq!(body.encoding["photos"].headers.iter().collect::<Vec<_>>(), [(&"X-A".to_owned(), &"1".to_owned())]);
    assert_eq!(body.encoding["data"].content, Content::Base64);
    assert!(matches!(body.encoding["xml"].content, Content::Xml(_)));
    assert!(!body.encoding.contains_key("meta") && !body.encoding.contains_key("note"));
    assert!(description(&operation, "file").contains("data URL"));
    assert!(description(&operation, "photos").starts_with("Photos.\nA file"));
    assert!(!description(&operation, "note").contains("data URL"));
}

#[test]
fn a_body_with_files_is_multipart_if_possible() {
    let upload =
        |file: &str| json!({"schema": {"properties": {"file": {"$ref": format!("#/components/schemas/{file}")}}}});
    let form = "application/x-www-form-urlencoded";
    let cases = [
        (json!({form: upload("File"), "multipart/form-data": upload("File")}), "multipart/form-data"),
        (json!({"application/json": upload("File"), "multipart/form-data": upload("File")}), "multipart/form-data"),
        (json!({"application/json": upload("Pet"), "multipart/form-data": upload("File")}), "application/json"),
        (json!({"application/json": upload("File"), "text/plain": {}}), "application/json"),
    ];
    for (content, media_type) in cases {
        assert_eq!(body(content.clone()).media_type, media_type, "{content}");
    }
}

#[test]
fn xml_follows_the_schema_and_is_a_text_argument_without_one() {
    let operation = with_content(json!({"application/xml": {"schema": {"$ref": "#/components/schemas/Pet"}}}));
    let body = operation.body.as_ref().unwrap();
    let Content::Xml(shape) = &body.content else { panic!("{:?}", body.content) };
    assert_eq!((body.format, shape.root.as_str()), (BodyFormat::Xml, "pet"));
    assert_eq!(operation.tool.parameters["properties"]["id"], json!({"type": "integer"}));

    let list = json!({"schema": {"type": "array", "title": "ids", "items": {"type": "string"}}});
    let Content::Xml(shape) = self::body(json!({"text/xml": list})).content else { panic!("not XML") };
    assert_eq!((shape.root.as_str(), shape.nodes.len()), ("ids", 2));
    for media in [json!({}), json!({"schema": {"type": "string"}})] {
        let operation = with_content(json!({"text/xml": media}));
        assert_eq!(operation.tool.parameters["properties"]["body"]["type"], "string", "{media}");
    }
}

#[test]
fn texts_and_files_are_one_argument() {
    let string = json!({"schema": {"type": "string", "maxLength": 9}});
    let cases = [
        ("text/plain", json!({}), "string", Content::Value),
        ("text/plain", string, "string", Content::Value),
        ("text/plain", json!({"schema": {"type": "integer"}}), "integer", Content::Value),
        ("text/csv", json!({"schema": {"type": "object", "properties": {"a": {}}}}), "string", Content::Value),
        ("image/*", json!({}), "string", Content::File),
        ("application/octet-stream", json!({"schema": {"$ref": "#/components/schemas/File"}}), "string", Content::File),
        ("application/octet-stream", json!({"schema": {"type": "object"}}), "string", Content::File),
        (
            "application/octet-stream",
            json!({"schema": {"type": "string", "format": "byte"}}),
            "string",
            Content::Base64,
        ),
    ];
    for (media_type, media, kind, content) in cases {
        let operation = with_content(json!({media_type: media}));
        let body = operation.body.as_ref().unwrap();
        assert_eq!(body.shape, BodyShape::Argument("body".into()), "{media_type} {media}");
        assert_eq!((&body.content, body.media_type.as_str()), (&content, media_type), "{media}");
        assert_eq!(operation.tool.parameters["properties"]["body"]["type"], kind, "{media_type} {media}");
        assert_eq!(description(&operation, "body").contains("data URL"), content == Content::File, "{media_type}");
    }
}

#[test]
fn yaml_and_sequences_of_json_are_written_from_values() {
    let schema = json!({"schema": {"type": "object", "properties": {"a": {"type": "integer"}}}});
    let yaml = with_content(json!({"application/yaml": schema}));
    assert_eq!(yaml.body.as_ref().unwrap().format, BodyFormat::Yaml);
    assert_eq!(yaml.tool.parameters["properties"]["a"], json!({"type": "integer"}));
    let lines = with_content(json!({"application/x-ndjson": {"schema": {"type": "array", "items": {}}}}));
    assert_eq!(lines.body.as_ref().unwrap().format, BodyFormat::JsonSequence);
    assert_eq!(lines.tool.parameters["properties"]["body"]["type"], "array");
    let form = with_content(json!({"application/x-www-form-urlencoded": {}}));
    assert_eq!(form.tool.parameters["properties"]["body"]["type"], "object");
}

#[test]
fn members_with_invalid_names_are_renamed_with_a_remark() {
    let schema = json!({"type": "object", "required": ["@type"], "properties": {"@type": {"type": "string", "description": "The type."}, "type": {}}});
    let operation = with_content(json!({"application/json": {"schema": schema}}));
    let parameters = &operation.tool.parameters;
    assert_eq!(parameters["required"], json!(["type_2"]));
    assert_eq!(description(&operation, "type_2"), "The type.\nThe API calls it `@type`.");
    let arguments = json!({"type_2": "a", "type": "b"});
    let placed = operation.place(arguments.as_object().unwrap()).body;
    assert_eq!(placed, Some(json!({"@type": "a", "type": "b"})));
}

#[test]
fn a_required_list_of_a_form_has_an_item_as_empty_is_not_sent() {
    let list = json!({"type": "array", "items": {"type": "string"}});
    let schema = json!({"type": "object", "required": ["to"], "properties": {"to": list, "cc": list}});
    let least = |media_type: &str| {
        let operation = with_content(json!({media_type: {"schema": schema}}));
        let properties = &operation.tool.parameters["properties"];
        ["to", "cc"].map(|name| properties[name].get("minItems").cloned())
    };
    for form in ["application/x-www-form-urlencoded", "multipart/form-data"] {
        assert_eq!(least(form), [Some(json!(1)), None], "{form}");
    }
    assert_eq!(least("application/json"), [None, None]);
}
