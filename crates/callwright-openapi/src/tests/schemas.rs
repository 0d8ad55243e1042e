//! Tests of argument schemas: kept parts, repairs, and limits.

use serde_json::{Map, Value, json};

use super::{accepts, schema_of_body, toolset_with};
use crate::{DocumentLimits, ToolsetSettings};

#[test]
fn a_recursive_schema_is_kept_by_a_definition() {
    let tree = json!({"type": "object", "properties": {
        "name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}}});
    let schema =
        schema_of_body(json!({"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}), json!({"Tree": tree}));
    assert_eq!(schema["properties"]["body"]["items"], json!({"$ref": "#/$defs/Tree"}));
    assert_eq!(schema["$defs"]["Tree"]["properties"]["children"]["items"], json!({"$ref": "#/$defs/Tree"}));
    assert!(accepts(&schema, &json!({"body": [{"children": [{"name": "leaf"}]}]})));
    assert!(!accepts(&schema, &json!({"body": [{"children": [{"name": 3}]}]})));
}

#[test]
fn recursive_schemas_of_one_name_get_distinct_definitions() {
    let schemas = json!({
        "A": {"properties": {"b": {"$ref": "#/components/schemas/more/A"}}},
        "more": {"A": {"type": "object", "properties": {"a": {"$ref": "#/components/schemas/A"}, "n": {"type": "integer"}}}}
    });
    let schema = schema_of_body(json!({"items": {"$ref": "#/components/schemas/A"}}), schemas);
    assert!(accepts(&schema, &json!({"body": [{"b": {"a": {"b": {"n": 1}}}}]})));
    assert!(!accepts(&schema, &json!({"body": [{"b": {"a": {"b": {"n": "x"}}}}]})));
    assert_eq!(schema["$defs"].as_object().unwrap().len(), 2);
}

#[test]
fn small_schemas_are_copied_and_large_ones_become_definitions() {
    let large: Map<String, Value> = (0..20).map(|n| (format!("p{n}"), json!({"type": "string"}))).collect();
    let schemas =
        json!({"Small": {"type": "object", "properties": {"n": {"type": "integer"}}}, "Large": {"properties": large}});
    let schema = schema_of_body(
        json!({"properties": {
            "a": {"$ref": "#/components/schemas/Small", "description": "this one"},
            "b": {"allOf": [{"$ref": "#/components/schemas/Large"}], "nullable": true}
        }}),
        schemas,
    );
    let small = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "description": "this one"});
    assert_eq!(schema["properties"]["a"], small);
    assert_eq!(schema["properties"]["b"], json!({"anyOf": [{"$ref": "#/$defs/Large"}, {"type": "null"}]}));
    assert!(accepts(&schema, &json!({"a": {"n": 1}, "b": null})));
}

#[test]
fn read_only_properties_are_not_offered() {
    let schemas = json!({
        "Base": {"type": "object", "required": ["id", "name"], "properties": {"id": {"type": "string", "readOnly": true}, "name": {}}},
        "Stamp": {"type": "string", "readOnly": true}
    });
    let own = json!({"type": "object", "required": ["at", "x"], "properties": {"at": {"$ref": "#/components/schemas/Stamp"}, "x": {}}});
    let flat = schema_of_body(own.clone(), schemas.clone());
    assert_eq!(flat["properties"], json!({"x": {}}));
    assert_eq!(flat["required"], json!(["x"]));

    let joined = json!({"allOf": [{"$ref": "#/components/schemas/Base"}, {"required": ["id", "name"]}, own]});
    let nested = schema_of_body(joined, schemas);
    assert!(accepts(&nested, &json!({"body": {"name": "n", "x": 1}})), "{nested}");
    assert!(!accepts(&nested, &json!({"body": {"x": 1}})));
}

#[test]
fn a_read_only_property_is_hidden_unless_writable_elsewhere() {
    let large: Map<String, Value> = (0..20).map(|n| (format!("p{n}"), json!({"type": "string"}))).collect();
    let schemas = json!({"Large": {"type": "object", "properties": large}});
    let body = |flag: bool| {
        let more = json!({"properties": {"p1": {"readOnly": true}, "p2": {"readOnly": flag}}});
        schema_of_body(json!({"allOf": [{"$ref": "#/components/schemas/Large"}, more]}), schemas.clone())
    };
    assert!(accepts(&body(true), &json!({"body": {"p0": "x"}})));
    assert!(!accepts(&body(true), &json!({"body": {"p1": "x"}})), "{}", body(true));
    assert!(!accepts(&body(true), &json!({"body": {"p2": "x"}})));
    assert!(accepts(&body(false), &json!({"body": {"p2": "x"}})));
    let marked = json!({"properties": {"made": {"readOnly": true}}});
    let marked = (0..12).fold(marked, |schema, _| json!({"allOf": [schema]}));
    let nested = json!({"allOf": [{"properties": {"made": {}, "name": {}}}, marked]});
    assert!(!schema_of_body(nested, json!({})).to_string().contains("made"));
    let deep = json!({"type": "object", "properties": {"made": {"readOnly": true}, "name": {"type": "string"}}});
    let toolset = super::toolset(
        json!({"paths": {"/x": {"get": {"parameters": [{"name": "q", "in": "query", "schema": deep}]}}}}),
    );
    let expected = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    assert_eq!(toolset.operations[0].tool.parameters["properties"]["q"], expected);
}

#[test]
fn null_is_allowed_as_the_document_version_defines() {
    let flag = json!({"type": "string", "nullable": true});
    for (version, is_allowed) in [("3.0.3", true), ("3.1.0", false)] {
        let root = json!({"openapi": version, "paths": {"/x": {"post": {"requestBody": {"required": true,
            "content": {"application/json": {"schema": {"properties": {"a": flag}}}}}}}}});
        let settings = ToolsetSettings::default();
        let toolset = super::toolset_of(root, "api", std::path::Path::new("api.json"), &settings).unwrap();
        assert_eq!(accepts(&toolset.operations[0].tool.parameters, &json!({"a": null})), is_allowed, "{version}");
    }
}

#[test]
fn a_required_property_without_a_schema_is_an_argument() {
    let schema = schema_of_body(json!({"properties": {"a": {"type": "string"}}, "required": ["b", "b"]}), json!({}));
    assert_eq!(schema["properties"], json!({"a": {"type": "string"}, "b": {}}));
    assert_eq!(schema["required"], json!(["b"]));
}

#[test]
fn a_path_value_is_never_empty_and_keeps_what_a_body_would_hide() {
    let version = json!({"type": "object", "properties": {"major": {"type": "integer", "readOnly": true}}});
    let parameters = json!([
        {"name": "v", "in": "path", "schema": {"$ref": "#/components/schemas/Version"}},
        {"name": "n", "in": "path", "schema": {"type": "integer"}},
        {"name": "s", "in": "path", "schema": {"type": "string", "minLength": 3}}
    ]);
    let toolset = super::toolset(json!({
        "paths": {"/{v}/{n}/{s}": {"get": {"parameters": parameters}}}, "components": {"schemas": {"Version": version}}
    }));
    let expected = json!({
        "v": {"type": "object", "properties": {"major": {"type": "integer"}}, "minProperties": 1},
        "n": {"type": "integer"},
        "s": {"type": "string", "minLength": 3}
    });
    assert_eq!(toolset.operations[0].tool.parameters["properties"], expected);
}

#[test]
fn a_schema_that_applies_itself_to_the_same_value_is_opened() {
    let schemas = json!({"A": {"allOf": [{"$ref": "#/components/schemas/B"}, {"type": "object"}]}, "B": {"oneOf": [{"$ref": "#/components/schemas/A"}]}});
    let schema = schema_of_body(json!({"items": {"$ref": "#/components/schemas/A"}}), schemas);
    assert!(accepts(&schema, &json!({"body": [{}]})));
    assert!(!accepts(&schema, &json!({"body": [1]})));
}

#[test]
fn openapi_3_1_schemas_keep_their_own_keywords() {
    let root = json!({
        "openapi": "3.1.0",
        "paths": {"/x": {"get": {"parameters": [
            {"name": "a", "in": "query", "schema": {"type": ["integer", "null"], "exclusiveMinimum": 3, "examples": [4]}},
            {"name": "b", "in": "query", "schema": {"$ref": "#/components/schemas/B", "maxLength": 3}},
            {"name": "c", "in": "query", "schema": {"const": 1, "$id": "https://example.com/c", "$anchor": "c"}}
        ]}}},
        "components": {"schemas": {"B": {"type": "string"}}}
    });
    let settings = ToolsetSettings::default();
    let toolset = super::toolset_of(root, "api", std::path::Path::new("api.json"), &settings).unwrap();
    let expected = json!({
        "a": {"type": ["integer", "null"], "exclusiveMinimum": 3, "examples": [4]},
        "b": {"type": "string", "maxLength": 3, "minLength": 1},
        "c": {"const": 1}
    });
    assert_eq!(toolset.operations[0].tool.parameters["properties"], expected);
}

fn body_within(limits: DocumentLimits, schema: &Value, schemas: &Value) -> super::Toolset {
    let body = json!({"required": true, "content": {"application/json": {"schema": schema}}});
    let members = json!({"paths": {"/x": {"post": {"requestBody": body}}}, "components": {"schemas": schemas}});
    toolset_with(members, &ToolsetSettings { limits, ..ToolsetSettings::default() })
}

#[test]
fn an_oversized_schema_loses_descriptions_first_and_then_levels() {
    let mut schema = json!({"type": "string", "description": "leaf"});
    for level in 0..6 {
        schema =
            json!({"type": "object", "description": "long ".repeat(100), "properties": {format!("p{level}"): schema}});
    }
    for (bytes, words) in [(8000, None), (2500, Some("cut to 160 characters")), (600, Some("deeper than"))] {
        let limits = DocumentLimits { schema_bytes: bytes, ..DocumentLimits::default() };
        let toolset = body_within(limits, &json!({"items": schema}), &json!({}));
        let written = &toolset.operations[0].tool.parameters;
        assert!(written.to_string().len() <= bytes);
        let remarks: Vec<&str> = toolset
            .report
            .simplified
            .iter()
            .map(|it| it.what.as_str())
            .filter(|what| !what.contains("server"))
            .collect();
        match words {
            Some(words) => assert!(remarks.iter().any(|what| what.contains(words)), "{bytes}: {remarks:?}"),
            None => assert!(remarks.is_empty(), "{remarks:?}"),
        }
        assert!(accepts(written, &json!({"body": [{"p5": {"p4": {"p3": {"p2": {"p1": {"p0": "x"}}}}}}]})));
    }
    let limits = DocumentLimits { schema_bytes: 40, ..DocumentLimits::default() };
    let skipped = body_within(limits, &schema, &json!({})).report.operations_skipped;
    assert!(skipped[0].reason.contains("limits.schema_bytes"), "{skipped:?}");
}

#[test]
fn references_that_multiply_stay_bounded() {
    let mut schemas = Map::new();
    for level in 0..200 {
        let next = json!({"$ref": format!("#/components/schemas/L{}", level + 1)});
        let properties: Map<String, Value> = (0..20).map(|n| (format!("p{n}"), next.clone())).collect();
        schemas.insert(format!("L{level}"), json!({"type": "object", "properties": properties}));
    }
    schemas.insert("L200".to_owned(), json!({"type": "string"}));
    let toolset =
        body_within(DocumentLimits::default(), &json!({"$ref": "#/components/schemas/L0"}), &Value::Object(schemas));
    let written = toolset.operations[0].tool.parameters.to_string();
    assert!(written.len() <= DocumentLimits::default().schema_bytes);
    assert!(toolset.report.simplified.iter().any(|it| it.what.contains("nested deeper than")));
}

#[test]
fn a_chain_of_definitions_ends_at_the_depth_limit() {
    let mut schemas = Map::new();
    for level in 0..5000 {
        let next = json!({"$ref": format!("#/components/schemas/L{}", level + 1)});
        schemas.insert(format!("L{level}"), json!({"allOf": [next, {"type": "object"}]}));
    }
    schemas.insert("L5000".to_owned(), json!({"type": "object"}));
    let limits = DocumentLimits { schema_depth: 1000, ..DocumentLimits::default() };
    let toolset = body_within(limits, &json!({"$ref": "#/components/schemas/L0"}), &Value::Object(schemas));
    let written = &toolset.operations[0].tool.parameters;
    assert!(written["$defs"].as_object().unwrap().len() < 60);
    assert!(accepts(written, &json!({"body": {}})));
}

#[test]
fn a_discriminator_holds_branches_to_the_names_of_its_mapping() {
    let large: Map<String, Value> = (0..20).map(|n| (format!("p{n}"), json!({"type": "string"}))).collect();
    let mut cat = large;
    cat.insert("kind".to_owned(), json!({"type": "string", "description": "What it is."}));
    let schemas = json!({
        "Pet": {"type": "object", "properties": {"kind": {"type": "string"}}, "required": ["kind"]},
        "Cat": {"type": "object", "properties": cat},
        "Dog": {"allOf": [{"$ref": "#/components/schemas/Pet"}, {"properties": {"bark": {"type": "integer"}}}]},
        "Ant": {"type": "object", "properties": {"kind": {"type": "string"}}}
    });
    let pet = json!({
        "oneOf": [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}, {"$ref": "#/components/schemas/Ant"}],
        "discriminator": {"propertyName": "kind", "mapping": {"cat": "#/components/schemas/Cat", "tiger": "Cat", "dog": "#/components/schemas/Dog"}}
    });
    let schema = schema_of_body(json!({"items": pet}), schemas);
    let branches = &schema["properties"]["body"]["items"]["oneOf"];
    assert_eq!(
        branches[0],
        json!({"$ref": "#/$defs/Cat", "properties": {"kind": {"enum": ["cat", "tiger"]}}, "required": ["kind"]})
    );
    assert_eq!(branches[1]["properties"]["kind"], json!({"const": "dog"}));
    assert_eq!(branches[2]["properties"]["kind"], json!({"type": "string", "examples": ["Ant"]}));
    for (value, fits) in [
        (json!({"kind": "dog", "bark": 1}), false), // `Ant` accepts it as well: only a mapping would decide.
        (json!({"kind": "tiger", "p0": "x"}), false),
        (json!({"kind": "ant"}), true),
        (json!({"kind": 1}), false),
    ] {
        assert_eq!(accepts(&schema, &json!({"body": [value]})), fits, "{value}");
    }
}

#[test]
fn a_branch_that_contradicts_the_mapping_is_unchanged() {
    let schemas = json!({"A": {"type": "object", "properties": {"kind": {"type": "string", "enum": ["a"]}}},
        "B": {"type": "object", "properties": {"kind": {"type": "integer"}}}});
    let either = json!({"anyOf": [{"$ref": "#/components/schemas/A"}, {"$ref": "#/components/schemas/B"}],
        "discriminator": {"propertyName": "kind", "mapping": {"x": "#/components/schemas/A", "7": "#/components/schemas/B"}}});
    let schema = schema_of_body(json!({"items": either}), schemas);
    let branches = &schema["properties"]["body"]["items"]["anyOf"];
    assert_eq!(branches[0], json!({"type": "object", "properties": {"kind": {"type": "string", "enum": ["a"]}}}));
    assert_eq!(
        branches[1],
        json!({"type": "object", "properties": {"kind": {"type": "integer", "const": 7}}, "required": ["kind"]})
    );
}

#[test]
fn a_base_schema_gives_the_names_of_its_kinds_as_examples() {
    let schemas = json!({"Pet": {"type": "object", "properties": {"kind": {"type": "string"}, "n": {"type": "integer"}},
        "discriminator": {"propertyName": "kind", "mapping": {"cat": "Cat", "dog": "Dog"}}}});
    let schema = schema_of_body(json!({"items": {"$ref": "#/components/schemas/Pet"}}), schemas);
    assert_eq!(schema["properties"]["body"]["items"]["properties"]["kind"]["examples"], json!(["cat", "dog"]));
}

#[test]
fn parameter_and_body_examples_stay_where_models_read_them() {
    let toolset = super::toolset(json!({
        "paths": {"/x": {"post": {
            "parameters": [
                {"name": "a", "in": "query", "schema": {"type": "string"}, "example": "2024-01-31"},
                {"name": "b", "in": "query", "schema": {"type": "string", "example": "own"}, "example": "beside"},
                {"name": "c", "in": "query", "schema": {"type": "array", "items": {"type": "string"}},
                    "examples": {"one": {"$ref": "#/components/examples/One"}, "two": {"value": ["y"]}}}
            ],
            "requestBody": {"required": true, "content": {"application/json": {
                "schema": {"type": "object", "properties": {"name": {"type": "string"}, "tags": {"type": "object"}}},
                "example": {"name": "Rex", "tags": {"k": "v".repeat(200)}}
            }}}
        }}},
        "components": {"examples": {"One": {"value": ["x", "z"]}}}
    }));
    let properties = &toolset.operations[0].tool.parameters["properties"];
    assert_eq!(properties["a"]["examples"], json!(["2024-01-31"]));
    assert_eq!(properties["b"]["examples"], json!(["own"]));
    assert_eq!(properties["c"]["examples"], json!([["x", "z"], ["y"]]));
    assert_eq!(properties["name"]["examples"], json!(["Rex"]));
    assert_eq!(properties["tags"], json!({"type": "object"}), "too long to illustrate");
}
