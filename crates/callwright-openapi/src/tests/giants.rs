//! Documents with densely connected schemas, as those of large vendors: the generated schemas stay bounded.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::soundness;
use crate::load::toolset_of;
use crate::{Toolset, ToolsetSettings};

/// Returns the toolset of a document with `operations` operations, each with one of `schemas` as body, evenly
/// distributed.
fn toolset_of_bodies(schemas: Map<String, Value>, operations: usize) -> Toolset {
    let names: Vec<String> = schemas.keys().cloned().collect();
    let step = (names.len() / operations).max(1);
    let mut paths = Map::new();
    for name in names.iter().step_by(step) {
        let schema = json!({"$ref": format!("#/components/schemas/{name}")});
        let body = json!({"required": true, "content": {"application/json": {"schema": schema}}});
        let answer = json!({"200": {"description": "ok", "content": {"application/json": {"schema": schema}}}});
        paths.insert(format!("/{name}"), json!({"post": {"requestBody": body, "responses": answer}}));
    }
    let root = json!({"openapi": "3.0.3", "servers": [{"url": "https://a.example.com"}], "paths": paths,
        "components": {"schemas": schemas}});
    toolset_of(root, "api", Path::new("api.json"), &ToolsetSettings::default()).unwrap()
}

/// Checks that every tool exists and that its schema, also in every dialect, is within the limits and can be used.
fn check(toolset: &Toolset, operations: usize) {
    assert_eq!((toolset.operations.len(), &toolset.report.operations_skipped), (operations, &vec![]));
    soundness::check_names(toolset);
    toolset.operations.iter().for_each(soundness::check_schema);
}

fn reference(name: impl std::fmt::Display) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

#[test]
fn entities_that_all_have_links_to_others_give_bounded_schemas() {
    let entity = |number: usize| {
        let mut properties = Map::new();
        for property in 0..30 {
            properties
                .insert(format!("text{property}"), json!({"type": "string", "description": "One of many texts."}));
        }
        for link in 1..=20 {
            let target = (number * 31 + link * link * 7) % 2_000;
            let schema = if link % 2 == 0 {
                json!({"type": "array", "items": reference(format!("E{target}"))})
            } else {
                reference(format!("E{target}"))
            };
            properties.insert(format!("link{link}"), schema);
        }
        json!({"type": "object", "properties": properties})
    };
    let schemas = (0..2_000).map(|number| (format!("E{number}"), entity(number))).collect();
    check(&toolset_of_bodies(schemas, 20), 20);
}

#[test]
fn chains_of_inheritance_give_bounded_schemas() {
    let mut schemas = Map::new();
    schemas.insert("C0".to_owned(), json!({"type": "object", "properties": {"next": reference("C499")}}));
    for number in 1..500 {
        let own = json!({"type": "object", "properties": {format!("p{number}"): {"type": "string"}, "back": reference(format!("C{}", number / 2))}});
        schemas.insert(format!("C{number}"), json!({"allOf": [reference(format!("C{}", number - 1)), own]}));
    }
    check(&toolset_of_bodies(schemas, 10), 10);
}

#[test]
fn many_subtypes_of_one_type_give_bounded_schemas() {
    let subtypes = 0..200;
    let mapping: Map<String, Value> = subtypes
        .clone()
        .map(|number| (format!("kind{number}"), format!("#/components/schemas/S{number}").into()))
        .collect();
    let all: Vec<Value> = subtypes.clone().map(|number| reference(format!("S{number}"))).collect();
    let mut schemas = Map::new();
    for number in subtypes {
        let own = json!({"type": "object", "properties": {
            "kind": {"type": "string"}, "children": {"type": "array", "items": reference("Any")}, "size": {"type": "integer"}}});
        schemas.insert(format!("S{number}"), own);
    }
    schemas
        .insert("Any".to_owned(), json!({"oneOf": all, "discriminator": {"propertyName": "kind", "mapping": mapping}}));
    check(&toolset_of_bodies(schemas, 10), 11);
}

/// Each level refers to the next one ten times: the number of paths grows exponentially, the number of schemas does
/// not.
#[test]
fn inheritance_along_many_paths_is_visited_once() {
    let mut schemas = Map::new();
    for level in 0..12 {
        let next = reference(format!("L{}", level + 1));
        schemas.insert(format!("L{level}"), json!({"allOf": vec![next; 10]}));
    }
    let last = json!({"type": "object", "properties": {"id": {"type": "string", "readOnly": true}, "name": {"type": "string"}}});
    schemas.insert("L12".to_owned(), last);
    check(&toolset_of_bodies(schemas, 13), 13);
}

/// An enumeration, texts and names that are too large for any tool: only the names of the arguments and their types
/// remain.
#[test]
fn an_operation_with_too_many_descriptions_keeps_its_arguments() {
    let long: Vec<String> = (0..20_000).map(|number| format!("value{number}")).collect();
    let mut properties = Map::new();
    properties.insert("listed".to_owned(), json!({"type": "string", "enum": long}));
    for number in 0..900 {
        properties.insert(
            format!("property{number}"),
            json!({"type": "object", "description": "word ".repeat(40), "properties": {"a": {"type": "string"}}}),
        );
    }
    let schemas = Map::from_iter([("Wide".to_owned(), json!({"type": "object", "properties": properties}))]);
    let toolset = toolset_of_bodies(schemas, 1);
    check(&toolset, 1);
    let written = &toolset.operations[0].tool.parameters["properties"];
    assert_eq!(written.as_object().unwrap().len(), 901);
    assert_eq!(written["listed"], json!({"type": "string"}));
    assert_eq!(written["property7"]["type"], "object");
    assert!(written["property7"].get("description").is_none());
    let is_reported = toolset.report.simplified.iter().any(|simplified| simplified.what.contains("left out"));
    assert!(is_reported, "{:?}", toolset.report.simplified);
}
