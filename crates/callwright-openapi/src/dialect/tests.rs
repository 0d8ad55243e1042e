//! Tests of the dialects: translation, losses, and termination.

use serde_json::{Map, Value, json};

use super::*;

fn strict(properties: Value, required: &[&str]) -> TranslatedSchema {
    strict_with(properties, required, json!({}))
}

fn strict_with(properties: Value, required: &[&str], definitions: Value) -> TranslatedSchema {
    let schema = json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false,
        "$defs": definitions});
    translate(&schema, SchemaDialect::OpenaiStrict)
}

fn losses(translated: &TranslatedSchema) -> Vec<String> {
    translated.losses.iter().map(Loss::to_string).collect()
}

#[test]
fn strict_requires_every_property_with_null_for_absent_ones() {
    let properties = json!({
        "id": {"type": "string", "description": "An id.", "format": "uuid", "minLength": 1},
        "kind": {"type": "string", "enum": ["a", "b"], "default": "a"},
        "only": {"const": 1},
        "tags": {"type": "array", "items": {"type": "string"}, "examples": [["x"]]},
        "place": {"type": "object", "properties": {"zip": {"type": "string"}}},
        "more": {"$ref": "#/$defs/More", "description": "Whatever."}
    });
    let more =
        json!({"More": {"type": "object", "properties": {"n": {"type": ["integer", "null"]}}, "required": ["n"]}});
    let strict = strict_with(properties, &["id"], more);
    assert!(strict.strict);
    assert_eq!(losses(&strict), [""; 0]);
    let expected = json!({
        "type": "object",
        "required": ["id", "kind", "only", "tags", "place", "more"],
        "properties": {
            "id": {"description": "An id.", "type": "string", "format": "uuid", "minLength": 1},
            "kind": {"description": "Default: a.", "type": ["string", "null"], "enum": ["a", "b", null]},
            "only": {"type": ["integer", "null"], "enum": [1, null]},
            "tags": {"description": "Examples: [\"x\"].", "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
            "place": {"anyOf": [{"type": "object", "required": ["zip"],
                "properties": {"zip": {"type": ["string", "null"]}}, "additionalProperties": false}, {"type": "null"}]},
            "more": {"description": "Whatever.", "anyOf": [{"$ref": "#/$defs/More"}, {"type": "null"}]}
        },
        "additionalProperties": false,
        "$defs": {"More": {"type": "object", "required": ["n"],
            "properties": {"n": {"type": ["integer", "null"]}}, "additionalProperties": false}}
    });
    assert_eq!(strict.parameters, expected);
}

#[test]
fn strict_joins_all_of_and_offers_one_of_as_any_of() {
    let definitions = json!({
        "Pet": {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}}},
        "Cat": {"allOf": [{"$ref": "#/$defs/Pet"}, {"properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}}}]},
        "Dog": {"allOf": [{"$ref": "#/$defs/Pet"}, {"properties": {"kind": {"const": "dog"}}}]}
    });
    let pet = json!({"pet": {"oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]}});
    let strict = strict_with(pet, &["pet"], definitions);
    assert!(strict.strict, "{:?}", strict.losses);
    assert_eq!(losses(&strict), ["arguments#/properties/pet: `oneOf` is offered as `anyOf`"]);
    let written = &strict.parameters;
    assert_eq!(written["properties"]["pet"]["anyOf"][0], json!({"$ref": "#/$defs/Cat"}));
    assert_eq!(written["$defs"]["Cat"]["properties"]["kind"], json!({"type": "string", "const": "cat"}));
    assert_eq!(written["$defs"]["Cat"]["required"], json!(["kind", "lives"]));
    assert!(written["$defs"].get("Pet").is_none(), "nothing refers to it any more");
}

#[test]
fn strict_merges_sibling_keywords_into_each_alternative() {
    let shape = json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"], "anyOf": [
        {"properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"properties": {"b": {"type": "integer"}}, "required": ["b"]}]});
    let strict = strict(json!({"x": shape}), &["x"]);
    let branches = strict.parameters["properties"]["x"]["anyOf"].as_array().unwrap();
    assert_eq!(branches.len(), 2);
    for branch in branches {
        assert_eq!(branch["properties"].as_object().unwrap().len(), 2, "{branch}");
        assert_eq!(branch["required"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn strict_keeps_recursion() {
    let tree = json!({"Tree": {"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}});
    let strict = strict_with(json!({"tree": {"$ref": "#/$defs/Tree"}}), &["tree"], tree);
    assert!(strict.strict);
    let children = &strict.parameters["$defs"]["Tree"]["properties"]["children"];
    assert_eq!(children["anyOf"][0]["items"], json!({"$ref": "#/$defs/Tree"}));
}

#[test]
fn schemas_outside_strict_are_offered_without_it_and_reported() {
    let many: Map<String, Value> = (0..5_001).map(|n| (format!("p{n}"), json!({"type": "string"}))).collect();
    let mut deep = json!({"type": "string"});
    for _ in 0..11 {
        deep = json!({"type": "object", "properties": {"x": deep}});
    }
    let values: Vec<String> = (0..1_001).map(|n| n.to_string()).collect();
    for (schema, words) in [
        (json!({}), "accepts any value"),
        (json!({"type": "object"}), "accepts any members"),
        (json!({"type": "object", "additionalProperties": {"type": "string"}}), "accepts additional members"),
        (json!({"type": "array"}), "accepts any value"),
        (json!({"type": "string", "not": {"const": "x"}}), "has `not`"),
        (json!({"type": "object", "properties": {"a": {"type": "string"}}, "if": {}}), "has `if`"),
        (json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}}}), "absent or null"),
        (json!({"allOf": [{"type": "string"}, {"type": "integer"}]}), "cannot be merged"),
        (json!({"$ref": "#/$defs/None"}), "no definition"),
        (json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b"]}), "requires `b`"),
        (json!({"type": "object", "properties": many}), "5002 properties"),
        (deep, "deeper than 10"),
        (json!({"enum": values}), "1001 values"),
    ] {
        let translated = strict(json!({"x": schema}), &["x"]);
        assert!(!translated.strict, "{words}");
        let losses = losses(&translated);
        assert!(
            losses[0].contains(words) && losses[0].ends_with("so the tool is offered without `strict`"),
            "{words}: {losses:?}"
        );
    }
}

#[test]
fn strict_moves_unsupported_keywords_to_the_description() {
    let properties = json!({
        "u": {"type": "string", "format": "uri", "deprecated": true, "description": "An address."},
        "p": {"type": "string", "pattern": "^(?!x)"},
        "s": {"type": "array", "items": {"type": "string"}, "uniqueItems": true, "maxItems": 3}
    });
    let strict = strict(properties, &["u", "p", "s"]);
    assert!(strict.strict);
    let written = &strict.parameters["properties"];
    assert_eq!(written["u"], json!({"description": "An address.\nDeprecated.\nFormat: uri.", "type": "string"}));
    assert_eq!(written["p"], json!({"type": "string", "description": "Matches the regular expression: ^(?!x)."}));
    assert_eq!(written["s"]["description"], "No item twice.");
    assert_eq!(losses(&strict).len(), 2, "{:?}", strict.losses);
}

#[test]
fn alternatives_of_alternatives_end() {
    let mut definitions = Map::new();
    for level in 0..40 {
        let next = json!({"$ref": format!("#/$defs/L{}", level + 1)});
        definitions.insert(format!("L{level}"), json!({"allOf": [next, next, {"type": "object"}]}));
    }
    definitions.insert("L40".to_owned(), json!({"type": "object", "properties": {"a": {"type": "string"}}}));
    definitions.insert("Loop".to_owned(), json!({"allOf": [{"$ref": "#/$defs/Loop"}]}));
    for name in ["L0", "Loop"] {
        let properties = json!({"x": {"$ref": format!("#/$defs/{name}")}});
        let translated = strict_with(properties.clone(), &["x"], Value::Object(definitions.clone()));
        assert!(!translated.strict);
        let schema = json!({"type": "object", "properties": properties, "$defs": definitions});
        let plain = translate(&schema, SchemaDialect::Plain);
        assert!(plain.parameters.to_string().len() < 40_000);
        assert!(!plain.losses.is_empty());
    }
}

#[test]
fn openai_gets_a_top_object_array_items_and_shared_patterns() {
    let schema = json!({
        "allOf": [{"properties": {"a": {"type": "array"}}, "required": ["a"]}],
        "oneOf": [{"properties": {"b": {"type": "string", "pattern": r"^\p{L}$"}}, "required": ["b"]}],
        "properties": {"c": true, "d": {"type": ["array", "null"], "prefixItems": [{"type": "string"}], "items": false}}
    });
    let openai = translate(&schema, SchemaDialect::Openai);
    let expected = json!({
        "properties": {
            "c": {},
            "d": {"type": ["array", "null"], "prefixItems": [{"type": "string"}], "items": {}},
            "b": {"type": "string", "description": r"Matches the regular expression: ^\p{L}$."},
            "a": {"type": "array", "items": {}}
        },
        "required": ["a"],
        "type": "object"
    });
    assert_eq!(openai.parameters, expected);
    assert_eq!(openai.losses.len(), 3, "{:?}", openai.losses);
}

#[test]
fn openai_keeps_schemas_that_it_accepts() {
    let schema = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"oneOf": [{"type": "string"}, {"type": "null"}]}},
        "required": ["a"], "additionalProperties": false, "$defs": {"A": {"type": "string", "not": {"const": "x"}, "examples": ["y"]}}});
    let openai = translate(&schema, SchemaDialect::Openai);
    assert_eq!((openai.parameters, openai.losses, openai.strict), (schema, vec![], false));
}

#[test]
fn plain_copies_definitions_and_opens_endless_ones() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/Small", "description": "this one"}, "b": {"$ref": "#/$defs/Small"}, "t": {"$ref": "#/$defs/Alias"}},
        "$defs": {
            "Alias": {"$ref": "#/$defs/Tree"},
            "Small": {"type": "string", "maxLength": 3},
            "Tree": {"type": "object", "properties": {"n": {"type": "integer"}, "next": {"$ref": "#/$defs/Tree"}}}
        }
    });
    let plain = translate(&schema, SchemaDialect::Plain);
    let opened =
        json!({"type": "object", "description": "Its content is not described here; any content is accepted."});
    let tree = |next: Value| json!({"type": "object", "properties": {"n": {"type": "integer"}, "next": next}});
    let expected = json!({"type": "object", "properties": {
        "a": {"type": "string", "maxLength": 3, "description": "this one"},
        "b": {"type": "string", "maxLength": 3},
        "t": tree(tree(opened))
    }});
    assert_eq!(plain.parameters, expected);
    assert_eq!(plain.losses.len(), 1, "{:?}", plain.losses);
    assert!(plain.losses[0].is_shared());
}

#[test]
fn plain_copies_definitions_referred_to_beside_a_reference() {
    let schema = json!({
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/Base", "properties": {"more": {"$ref": "#/$defs/More"}}}},
        "$defs": {"Base": {"type": "object"}, "More": {"type": "string", "maxLength": 3}}
    });
    let plain = translate(&schema, SchemaDialect::Plain);
    let more = json!({"type": "object", "properties": {"more": {"type": "string", "maxLength": 3}}});
    assert_eq!(plain.parameters["properties"]["x"], more);
}

#[test]
fn plain_copies_less_where_copies_would_multiply() {
    let mut definitions = Map::new();
    for level in 0..12 {
        let next = json!({"$ref": format!("#/$defs/L{}", level + 1)});
        let properties: Map<String, Value> = (0..8).map(|n| (format!("p{n}"), next.clone())).collect();
        definitions.insert(format!("L{level}"), json!({"type": "object", "properties": properties}));
    }
    definitions.insert("L12".to_owned(), json!({"type": "string"}));
    let schema = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/L0"}}, "$defs": definitions});
    let plain = translate(&schema, SchemaDialect::Plain);
    let written = plain.parameters.to_string();
    assert!(written.len() < 64 * 1024 && !written.contains("$ref") && !plain.losses.is_empty(), "{}", written.len());
}
