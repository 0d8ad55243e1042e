//! Broken documents: a faulty operation does not affect others, and its error is reported.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{accepts, toolset};
use crate::load::toolset_of;
use crate::{LoadError, Report, ToolsetSettings};

#[test]
fn a_bad_operation_is_skipped_with_a_reason_and_others_load() {
    let toolset = toolset(json!({"paths": {
        "/good": {"get": {"operationId": "good"}},
        "/broken/parameter": {"post": {"parameters": [{"$ref": "#/components/parameters/none"}]}},
        "/broken/body": {"post": {"requestBody": {"$ref": "other.yaml#/body"}}},
        "/cycle": {"delete": {"parameters": [{"$ref": "#/paths/~1cycle/delete/parameters/0"}]}},
        "/parameters": {"put": {"parameters": "none"}},
        "/nameless": {"post": {"parameters": [{"in": "query"}]}},
        "/nowhere": {"post": {"parameters": [{"name": "a", "in": "air"}]}},
        "/no/object": {"get": 3}
    }}));
    assert_eq!(toolset.report.operations_loaded, 1);
    assert!(toolset.operation("good").is_some());
    let reasons: Vec<(&str, &str)> = toolset
        .report
        .operations_skipped
        .iter()
        .map(|skipped| (skipped.operation.as_str(), skipped.reason.as_str()))
        .collect();
    let expected = [
        ("GET /no/object", "is not an object"),
        ("POST /broken/parameter", "has no target"),
        ("POST /broken/body", "cannot be read"),
        ("DELETE /cycle", "is circular"),
        ("PUT /parameters", "is not an array"),
        ("POST /nameless", "has no name"),
        ("POST /nowhere", "it has \"air\""),
    ];
    assert_eq!(reasons.len(), expected.len(), "{reasons:?}");
    for ((operation, reason), (expected_operation, part)) in reasons.iter().zip(expected) {
        assert_eq!(*operation, expected_operation);
        assert!(reason.contains(part), "{operation}: {reason}");
    }
}

#[test]
fn an_undescribed_path_parameter_is_text_and_a_stray_is_dropped() {
    let toolset = toolset(json!({"paths": {"/a/{id}/{key+}": {
        "parameters": [
            {"name": "key", "in": "path", "schema": {}},
            {"name": "gone", "in": "path", "schema": {}}, {"name": "lost", "in": "path", "schema": {}}
        ],
        "get": {}
    }}}));
    let operation = &toolset.operations[0];
    assert_eq!(operation.tool.parameters["properties"]["id"], json!({"type": "string", "minLength": 1}));
    assert!(operation.tool.parameters["properties"]["key"].is_object());
    assert_eq!(operation.tool.parameters["required"], json!(["id", "key"]));
    let pointers: Vec<(&str, &str, bool)> =
        operation.bindings.iter().map(|it| (it.argument.as_str(), it.name.as_str(), it.allow_reserved)).collect();
    assert_eq!(pointers, [("id", "id", false), ("key", "key+", true)]);
    let remarks: Vec<&str> = toolset.report.simplified.iter().map(|simplified| simplified.what.as_str()).collect();
    assert!(remarks.iter().any(|what| what.contains("`id` is not described")), "{remarks:?}");
    assert!(remarks.iter().any(|what| what.contains("`gone` has no place")), "{remarks:?}");
}

#[test]
fn a_broken_schema_reference_accepts_all_and_is_reported_once() {
    let schema = json!({"properties": {"a": {"$ref": "#/none", "description": "kept"}, "b": {"type": "integer"}}});
    let shared = json!({"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S"}}}});
    let toolset = toolset(json!({
        "servers": [{"url": "https://a.example.com"}],
        "paths": {"/x": {"post": {"requestBody": shared}, "put": {"requestBody": shared}}},
        "components": {"schemas": {"S": schema}}
    }));
    for operation in &toolset.operations {
        assert_eq!(operation.tool.parameters["properties"]["a"], json!({"description": "kept"}));
        assert_eq!(operation.tool.parameters["properties"]["b"], json!({"type": "integer"}));
    }
    let simplified = &toolset.report.simplified;
    assert_eq!(simplified.len(), 1, "{simplified:?}");
    assert!(simplified[0].what.starts_with("api.json #/components/schemas/S/properties/a: "));
}

#[test]
fn the_report_has_the_shape_that_check_prints() {
    let report = toolset(json!({"paths": {"/a": {"get": {}, "put": 1}}})).report;
    assert_eq!(
        serde_json::to_value(report).unwrap(),
        json!({
            "file": "api.json",
            "operations_loaded": 1,
            "operations_skipped": [{"operation": "PUT /a", "reason": "api.json #/paths/~1a/put is not an object"}],
            "renamed": [{"operation": "GET /a", "from": null, "to": "get_a"}],
            "simplified": [{"operation": "", "what": "the document has no server; `base_url` is needed to call its operations"}],
            "error": null,
            "advice": [],
            "hidden": []
        })
    );
    let failure = serde_json::to_value(Report::of_failure("x.yaml", "no OpenAPI")).unwrap();
    assert_eq!(failure["error"], "no OpenAPI");
    assert_eq!(failure["operations_loaded"], 0);
}

#[test]
fn credentials_for_unknown_schemes_and_bad_addresses_are_errors() {
    let root =
        json!({"openapi": "3.0.0", "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}}});
    let load = |settings: &ToolsetSettings| toolset_of(root.clone(), "api", std::path::Path::new("api.json"), settings);
    let mut settings = ToolsetSettings::default();
    settings.credentials.insert("kay".to_owned(), callwright_types::Secret::new("canary").into());
    let error = load(&settings).unwrap_err();
    assert!(matches!(error, LoadError::Other(_)));
    assert!(error.to_string().contains("defines key") && !error.to_string().contains("canary"), "{error}");
    let settings = ToolsetSettings { base_url: "example.com".to_owned(), ..ToolsetSettings::default() };
    assert!(matches!(load(&settings), Err(LoadError::Other(_))));
}

/// Returns a document with most supported features, which tests break at random.
fn sample() -> Value {
    json!({
        "openapi": "3.0.3",
        "info": {"title": "t", "description": "d"},
        "servers": [{"url": "https://{a}.example.com", "variables": {"a": {"default": "b"}}}],
        "security": [{"key": []}],
        "tags": [{"name": "t", "description": "d"}],
        "paths": {"/x/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"$ref": "#/components/schemas/Tree"}}],
            "post": {
                "operationId": "o", "tags": ["t"], "x-errors": [{"code": 1}],
                "requestBody": {"content": {"application/json": {"schema": {"allOf": [
                    {"$ref": "#/components/schemas/Tree"},
                    {"required": ["a"], "properties": {"a": {"type": "string", "nullable": true, "enum": ["x"], "readOnly": true}}}
                ]}}}},
                "responses": {"404": {"description": "gone", "content": {"application/json": {
                    "schema": {"$ref": "#/components/schemas/Tree"}, "examples": {"e": {"value": 1}}}}}}
            }
        }},
        "components": {
            "schemas": {"Tree": {"type": "object", "minProperties": 1, "properties": {
                "children": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}},
                "size": {"type": "integer", "minimum": 0, "exclusiveMinimum": true, "default": 3}
            }}},
            "securitySchemes": {"key": {"type": "apiKey", "in": "query", "name": "k"}}
        }
    })
}

/// Collects pointers to every value below `value`.
fn pointers(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                let key = key.replace('~', "~0").replace('/', "~1");
                pointers(member, format!("{at}/{key}"), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointers(item, format!("{at}/{index}"), found);
            }
        }
        _ => {}
    }
    found.push(at);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, rng_seed: proptest::test_runner::RngSeed::Fixed(3), ..ProptestConfig::default() })]
    /// Random values in random pointers: nothing panics, every operation is accounted for, every schema can be used.
    #[test]
    fn a_document_broken_at_any_position_loads_or_is_an_error(breaks in proptest::collection::vec((any::<prop::sample::Index>(), 0usize..10, any::<prop::sample::Index>()), 1..5)) {
        let mut root = sample();
        for (place, kind, other) in breaks {
            let mut found = Vec::new();
            pointers(&root, String::new(), &mut found);
            let target = other.get(&found).clone();
            let value = match kind {
                0 => Value::Null,
                1 => json!(-1.5),
                2 => json!("text"),
                3 => json!([]),
                4 => json!({}),
                5 => json!(true),
                6 => json!({"$ref": format!("#{target}")}),
                7 => json!({"allOf": [{"$ref": format!("#{target}")}]}),
                8 => json!([{"$ref": format!("#{target}")}]),
                _ => root.pointer(&target).cloned().unwrap_or_default(),
            };
            let place = place.get(&found);
            if let Some(slot) = root.pointer_mut(place).filter(|_| !place.is_empty()) {
                *slot = value;
            }
        }
        let methods = root["paths"].as_object().into_iter().flatten()
            .filter(|(path, _)| !path.starts_with("x-"))
            .filter_map(|(_, item)| item.as_object())
            .filter(|item| item.contains_key("post")).count();
        if let Ok(toolset) = toolset_of(root, "api", std::path::Path::new("api.json"), &ToolsetSettings::default()) {
            prop_assert!(toolset.report.operations_loaded + toolset.report.operations_skipped.len() >= methods);
            for operation in &toolset.operations {
                accepts(&operation.tool.parameters, &json!({"id": {"children": [{"children": []}]}, "body": {"a": "x"}}));
            }
        }
    }
}
