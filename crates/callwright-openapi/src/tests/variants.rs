//! Tests of polymorphic bodies: variants by `allOf` and a discriminator.

use std::path::Path;

use serde_json::{Value, json};

use super::{accepts, operation, schema_of_body};
use crate::load::toolset_of;
use crate::{Operation, Toolset, ToolsetSettings};

/// Returns a schema that extends `parent` by `properties`, of which the first is required.
fn child(parent: &str, properties: Value) -> Value {
    let first = properties.as_object().and_then(|properties| properties.keys().next().cloned());
    json!({"allOf": [
        {"$ref": format!("#/components/schemas/{parent}")},
        {"type": "object", "required": first.into_iter().collect::<Vec<_>>(), "properties": properties}
    ]})
}

/// Returns the schemas of a parent `Shape` with these further members, and two variants.
fn shapes(more: Value) -> Value {
    let mut shape = json!({"type": "object", "required": ["kind"], "properties": {
        "kind": {"type": "string", "description": "Kind."}, "label": {"type": "string"}}});
    for (key, value) in more.as_object().unwrap() {
        shape[key] = value.clone();
    }
    json!({
        "Shape": shape,
        "Circle": child("Shape", json!({"radius": {"type": "number"}, "unit": {"enum": ["mm", "cm"]}})),
        "Box": child("Shape", json!({"width": {"type": "number"}, "unit": {"enum": ["px"]}})),
    })
}

fn mapped() -> Value {
    json!({"discriminator": {"propertyName": "kind", "mapping": {
        "round": "#/components/schemas/Circle", "square": "Box"}}})
}

fn reference() -> Value {
    json!({"$ref": "#/components/schemas/Shape"})
}

#[test]
fn all_variants_properties_are_offered_and_judged_by_variant() {
    let schema = schema_of_body(reference(), shapes(mapped()));
    let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["kind", "label", "radius", "unit", "width"]);
    assert_eq!(schema["required"], json!(["kind"]));
    assert_eq!(schema["properties"]["kind"]["enum"], json!(["round", "square"]));
    let text = schema["properties"]["kind"]["description"].as_str().unwrap();
    assert!(text.starts_with("Kind.\nSelects the variant: `round` requires `radius` and may have `unit`;"), "{text}");
    assert_eq!(schema["properties"]["radius"]["description"], "Only if `kind` is `round`.");
    assert_eq!(schema["properties"]["unit"].get("description"), None);
    for keyword in ["allOf", "anyOf", "oneOf"] {
        assert_eq!(schema.get(keyword), None, "providers reject it at the top");
    }
    for arguments in [
        json!({"kind": "round", "radius": 2, "label": "x", "unit": "cm"}),
        json!({"kind": "square", "width": 2, "unit": "px"}),
        json!({"kind": "square", "width": 2, "radius": 1}),
    ] {
        assert!(accepts(&schema, &arguments), "{arguments}");
    }
    for arguments in [
        json!({"kind": "round", "width": 2}),
        json!({"kind": "round"}),
        json!({"kind": "Circle", "radius": 2}),
        json!({"kind": "round", "radius": "x"}),
        json!({"kind": "round", "radius": 2, "unit": "px"}),
        json!({"radius": 2}),
    ] {
        assert!(!accepts(&schema, &arguments), "{arguments}");
    }
}

#[test]
fn the_request_has_the_discriminator_and_the_members() {
    let body = json!({"required": true, "content": {"application/json": {"schema": reference()}}});
    let operation = operation(json!({"requestBody": body}), json!({"schemas": shapes(mapped())}));
    let arguments = json!({"kind": "round", "radius": 2});
    let placed = operation.place(arguments.as_object().unwrap());
    assert_eq!(placed.body, Some(json!({"kind": "round", "radius": 2})));
    assert_eq!(operation.fixed, []);
}

#[test]
fn a_single_variant_is_selected_by_the_model_too() {
    let mapping = json!({"discriminator": {"propertyName": "kind", "mapping": {"round": "Circle"}}});
    // A reference that is wrapped in `allOf` is the same schema.
    let schema = schema_of_body(json!({"allOf": [reference()]}), shapes(mapping));
    assert!(accepts(&schema, &json!({"kind": "round", "radius": 2})));
    assert!(!accepts(&schema, &json!({"kind": "round"})));
    assert!(!accepts(&schema, &json!({"kind": "round", "radius": 2, "width": 2})), "it is not in the mapping");
}

#[test]
fn names_without_a_mapping_come_from_enumerations_and_schemas() {
    let mut schemas = shapes(json!({"discriminator": {"propertyName": "kind"}}));
    schemas["Box"]["x-ms-discriminator-value"] = json!("#Box");
    schemas["Line"] = json!({"allOf": [reference(), {"properties": {"kind": {"enum": ["line", "ray"]}, "to": {}}}]});
    let schema = schema_of_body(reference(), schemas);
    assert_eq!(schema["properties"]["kind"]["enum"], json!(["Circle", "#Box", "line", "ray"]));
    assert!(accepts(&schema, &json!({"kind": "Circle", "radius": 2})));
    assert!(accepts(&schema, &json!({"kind": "ray", "to": [1]})));
    assert!(!accepts(&schema, &json!({"kind": "#Box"})));
}

#[test]
fn differently_written_names_are_matched_or_not_judged() {
    let with_kind = |kind: Value| {
        let mut schemas = shapes(json!({"discriminator": {"propertyName": "kind"}}));
        schemas["Shape"]["properties"]["kind"] = kind;
        schema_of_body(reference(), schemas)
    };
    let listed = with_kind(json!({"type": "string", "enum": ["circle", "box", "none"]}));
    assert!(accepts(&listed, &json!({"kind": "none"})));
    assert!(accepts(&listed, &json!({"kind": "box", "width": 1})));
    assert!(!accepts(&listed, &json!({"kind": "box"})));
    assert!(!accepts(&listed, &json!({"kind": "Box", "width": 1})));
    let shown = with_kind(json!({"type": "string", "example": "circle"}));
    assert!(accepts(&shown, &json!({"kind": "circle"})) && accepts(&shown, &json!({"kind": "Box"})));
    let other = with_kind(json!({"type": "string", "default": "point"}));
    assert!(accepts(&other, &json!({"kind": "point"})) && !accepts(&other, &json!({"kind": "circle"})));
}

#[test]
fn a_closed_variant_has_no_members_of_others() {
    let mut more = mapped();
    more["additionalProperties"] = json!(false);
    let schema = schema_of_body(reference(), shapes(more));
    assert!(accepts(&schema, &json!({"kind": "round", "radius": 2})));
    assert!(!accepts(&schema, &json!({"kind": "round", "radius": 2, "width": 1})));
}

#[test]
fn variants_are_judged_in_lists_and_where_used_directly() {
    let mut schemas = shapes(mapped());
    schemas["Group"] = child("Shape", json!({"parts": {"type": "array", "items": reference()}}));
    schemas["Shape"]["discriminator"]["mapping"]["group"] = json!("#/components/schemas/Group");
    let schema = schema_of_body(
        json!({"type": "object", "properties": {
            "shapes": {"type": "array", "items": reference()}, "circle": {"$ref": "#/components/schemas/Circle"}}}),
        schemas,
    );
    let nested = |parts: Value| json!({"shapes": [{"kind": "group", "parts": parts}]});
    assert!(accepts(&schema, &nested(json!([{"kind": "round", "radius": 1}]))), "{schema:#}");
    assert!(accepts(&schema, &json!({"circle": {"kind": "round", "radius": 1, "width": 2}})));
    assert!(!accepts(&schema, &nested(json!([{"kind": "round"}]))));
    assert!(!accepts(&schema, &json!({"shapes": [{"kind": "oval"}]})));
    assert!(!accepts(&schema, &json!({"circle": {"kind": "round"}})));
    // The parent of a variant offers no properties of others.
    assert!(!schema["properties"]["circle"].to_string().contains("parts"));
}

#[test]
fn alternatives_that_extend_their_holder_are_its_variants() {
    for keyword in ["oneOf", "anyOf"] {
        let mut more = mapped();
        more[keyword] = json!([{"$ref": "#/components/schemas/Circle"}, {"$ref": "#/components/schemas/Box"}]);
        let schema = schema_of_body(reference(), shapes(more));
        assert!(accepts(&schema, &json!({"kind": "round", "radius": 2})), "{schema:#}");
        assert!(!accepts(&schema, &json!({"kind": "round"})));
    }
}

#[test]
fn indirect_variants_inherit_members() {
    let mut schemas = shapes(json!({"discriminator": {"propertyName": "kind"}}));
    schemas["Ring"] = child("Circle", json!({"inner": {"type": "number"}}));
    let schema = schema_of_body(reference(), schemas);
    assert!(accepts(&schema, &json!({"kind": "Ring", "inner": 1, "radius": 2})));
    assert!(!accepts(&schema, &json!({"kind": "Ring", "inner": 1})));
}

#[test]
fn what_cannot_be_offered_is_reported_and_stays_open() {
    let mut schemas = shapes(mapped());
    schemas["Box"]["allOf"][1]["additionalProperties"] = json!({"type": "integer"});
    schemas["Circle"]["allOf"][1]["oneOf"] = json!([{"required": ["unit"]}, {"required": ["label"]}]);
    schemas["Shape"]["additionalProperties"] = json!(false);
    let body = json!({"required": true, "content": {"application/json": {"schema": reference()}}});
    let paths = json!({"/x": {"post": {"requestBody": body}}});
    let toolset = super::toolset(json!({"paths": paths, "components": {"schemas": schemas}}));
    let schema = &toolset.operations[0].tool.parameters;
    assert!(accepts(schema, &json!({"body": {"kind": "square", "width": 1, "depth": 3}})), "{schema:#}");
    assert!(!accepts(schema, &json!({"body": {"kind": "square"}})));
    let remarks: Vec<&str> = toolset.report.simplified.iter().map(|simplified| simplified.what.as_str()).collect();
    assert!(
        remarks.iter().any(|remark| remark.ends_with("the variant `Circle` has `oneOf`, which is left out")),
        "{remarks:?}"
    );
}

fn swagger(definitions: Value) -> Toolset {
    let parameter = json!({"in": "body", "name": "b", "required": true, "schema": {"$ref": "#/definitions/Shape"}});
    let root = json!({"swagger": "2.0", "host": "a.example", "definitions": definitions,
        "paths": {"/x": {"post": {"parameters": [parameter], "responses": {}}}}});
    toolset_of(root, "api", Path::new("api.json"), &ToolsetSettings::default()).unwrap()
}

#[test]
fn swagger_2_names_the_discriminator_by_a_string() {
    let toolset = swagger(json!({
        "Shape": {"type": "object", "discriminator": "@type", "required": ["@type"], "properties": {"@type": {"type": "string"}}},
        "Circle": {"x-ms-discriminator-value": "circle", "allOf": [{"$ref": "#/definitions/Shape"}],
            "required": ["radius"], "properties": {"radius": {"type": "number"}, "id": {"type": "string", "readOnly": true}}},
    }));
    let operation: &Operation = &toolset.operations[0];
    let schema = &operation.tool.parameters;
    let selector = schema["properties"].as_object().unwrap().keys().next().unwrap().clone();
    assert_ne!(selector, "@type", "no provider accepts this name");
    let arguments = json!({&selector: "circle", "radius": 1});
    assert!(accepts(schema, &arguments) && !accepts(schema, &json!({&selector: "circle"})), "{schema:#}");
    assert!(!accepts(schema, &json!({&selector: "circle", "radius": 1, "id": "read-only"})));
    let placed = operation.place(arguments.as_object().unwrap());
    assert_eq!(placed.body, Some(json!({"@type": "circle", "radius": 1})));
}

#[test]
fn circular_and_numerous_variants_end() {
    let mut schemas = json!({"Shape": {"type": "object", "properties": {"kind": {"type": "string"}},
        "discriminator": {"propertyName": "kind"}, "allOf": [{"$ref": "#/components/schemas/Loop"}]},
        "Loop": {"allOf": [{"$ref": "#/components/schemas/Shape"}, {"properties": {"a": {}}}]}});
    let schema = schema_of_body(reference(), schemas.clone());
    assert!(schema["properties"].is_object());
    schemas["Shape"].as_object_mut().unwrap().shift_remove("allOf");
    for number in 0..400 {
        let properties = json!({format!("p{number}"): {"type": "string"}, "same": reference()});
        schemas[format!("S{number}")] = child("Shape", properties);
    }
    let body = json!({"required": true, "content": {"application/json": {"schema": reference()}}});
    let paths = json!({"/x": {"post": {"requestBody": body}}});
    let toolset = super::toolset(json!({"paths": paths, "components": {"schemas": schemas}}));
    assert_eq!(toolset.operations.len(), 1);
    let schema = &toolset.operations[0].tool.parameters;
    assert!(schema.to_string().len() <= ToolsetSettings::default().limits.schema_bytes);
    assert!(!toolset.report.simplified.is_empty());
}
