//! Tests of the mapping from an argument object to the parts of a request: nothing is lost.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{accepts, operation, toolset};
use crate::{BodyShape, Location, Style};

/// Name of the case; the parameters; the request body; the destinations of their arguments (argument, location, name
/// on the wire); and the source of the body: names of members, or `*` and the argument for the whole body.
type Case = (&'static str, Vec<Value>, Option<Value>, Vec<Placed>, Vec<&'static str>);
type Placed = (&'static str, &'static str, &'static str);

fn json_body(schema: Value, required: bool) -> Value {
    json!({"required": required, "content": {"application/json": {"schema": schema}}})
}

#[test]
fn arguments_are_mapped_to_their_original_locations() {
    let parameter = |name: &str, location: &str| json!({"name": name, "in": location, "schema": {"type": "string"}});
    let object = json!({"type": "object", "properties": {"name": {}, "age": {}}, "required": ["name"]});
    let cases: Vec<Case> = vec![
        ("nothing", vec![], None, vec![], vec![]),
        (
            "four locations",
            vec![parameter("q", "query"), parameter("X-H", "header"), parameter("c", "cookie")],
            None,
            vec![("q", "query", "q"), ("X-H", "header", "X-H"), ("c", "cookie", "c")],
            vec![],
        ),
        (
            "one name in three locations",
            vec![parameter("id", "header"), parameter("id", "query"), parameter("id_header", "query")],
            None,
            vec![("id_header_2", "header", "id"), ("id", "query", "id"), ("id_header", "query", "id_header")],
            vec![],
        ),
        ("a plain object", vec![], Some(json_body(object.clone(), true)), vec![], vec!["name", "age"]),
        (
            "a property that bears a parameter's name",
            vec![parameter("name", "query")],
            Some(json_body(object.clone(), true)),
            vec![("name", "query", "name")],
            vec!["*body"],
        ),
        (
            "a parameter that bears the body's name",
            vec![parameter("body", "query"), parameter("body_2", "query")],
            Some(json_body(json!({"type": "array"}), true)),
            vec![("body", "query", "body"), ("body_2", "query", "body_2")],
            vec!["*body_3"],
        ),
        ("an optional object with required properties", vec![], Some(json_body(object, false)), vec![], vec!["*body"]),
        (
            "an optional object without them",
            vec![],
            Some(json_body(json!({"properties": {"a": {}}}), false)),
            vec![],
            vec!["a"],
        ),
        (
            "an open object",
            vec![],
            Some(json_body(json!({"properties": {"a": {}}, "additionalProperties": true}), true)),
            vec![],
            vec!["*body"],
        ),
        (
            "an object with alternatives",
            vec![],
            Some(json_body(json!({"properties": {"a": {}}, "oneOf": [{}]}), true)),
            vec![],
            vec!["*body"],
        ),
        ("a body without schema", vec![], Some(json!({"content": {"application/json": {}}})), vec![], vec!["*body"]),
        ("a body of text", vec![], Some(json!({"content": {"text/xml": {}}})), vec![], vec!["*body"]),
    ];
    for (case, parameters, body, bindings, in_body) in cases {
        let body = body.unwrap_or(Value::Null);
        let operation = operation(json!({"parameters": parameters, "requestBody": body}), json!({}));
        let properties = operation.tool.parameters["properties"].as_object().unwrap();

        let arguments: Map<String, Value> =
            properties.keys().map(|name| (name.clone(), format!("value of {name}").into())).collect();
        let placement = operation.place(&arguments);
        let placed: Vec<(&str, &str, &str, &Value)> = placement
            .parameters
            .iter()
            .map(|(binding, value)| {
                (binding.argument.as_str(), binding.location.as_str(), binding.name.as_str(), *value)
            })
            .collect();
        let expected: Vec<(&str, &str, &str, &Value)> = bindings
            .iter()
            .map(|(argument, location, name)| (*argument, *location, *name, &arguments[*argument]))
            .collect();
        assert_eq!(placed, expected, "{case}");

        let expected = match in_body.as_slice() {
            [] => None,
            [whole] if whole.starts_with('*') => Some(arguments[&whole[1..]].clone()),
            names => Some(names.iter().map(|name| ((*name).to_owned(), arguments[*name].clone())).collect()),
        };
        assert_eq!(placement.body, expected, "{case}");
        assert_eq!(properties.len(), bindings.len() + in_body.len(), "{case}");
    }
}

#[test]
fn an_empty_required_body_is_sent_and_an_optional_one_is_not() {
    let schema = json!({"properties": {"a": {}}});
    for (required, expected) in [(true, Some(json!({}))), (false, None)] {
        let operation = operation(json!({"requestBody": json_body(schema.clone(), required)}), json!({}));
        assert_eq!(operation.place(&Map::new()).body, expected);
    }
}

#[test]
fn styles_and_their_defaults_are_kept() {
    let parameters = json!([
        {"name": "a", "in": "query", "schema": {}},
        {"name": "b", "in": "query", "style": "deepObject", "explode": false, "allowReserved": true, "schema": {}},
        {"name": "c", "in": "header", "style": "form", "schema": {}},
        {"name": "d", "in": "query", "content": {"application/json": {"schema": {"type": "object"}}}},
        {"name": "Authorization", "in": "header", "schema": {}},
    ]);
    let toolset =
        toolset(json!({"paths": {"/{p}": {"parameters": [{"name": "p", "in": "path", "style": "label", "schema": {}}],
        "get": {"parameters": parameters}}}}));
    let bindings = &toolset.operations[0].bindings;
    let found: Vec<(&str, Style, bool, bool)> =
        bindings.iter().map(|it| (it.name.as_str(), it.style, it.explode, it.allow_reserved)).collect();
    assert_eq!(
        found,
        [
            ("p", Style::Label, false, false),
            ("a", Style::Form, true, false),
            ("b", Style::DeepObject, false, true),
            ("c", Style::Simple, false, false),
            ("d", Style::Form, true, false),
        ]
    );
    assert!(bindings[0].required && bindings[0].location == Location::Path);
    assert_eq!(bindings[4].media_type.as_deref(), Some("application/json"));
    assert_eq!(toolset.report.simplified.len(), 2, "{:?}", toolset.report.simplified);
}

#[test]
fn an_operations_own_parameter_replaces_the_paths() {
    let own = json!({"name": "a", "in": "query", "required": true, "schema": {"type": "integer"}});
    let shared =
        json!([{"name": "a", "in": "query", "schema": {"type": "string"}}, {"$ref": "#/components/parameters/b"}]);
    let toolset = toolset(json!({
        "paths": {"/x": {"parameters": shared, "get": {"parameters": [own]}}},
        "components": {"parameters": {"b": {"name": "b", "in": "header", "schema": {"type": "boolean"}}}}
    }));
    let schema = &toolset.operations[0].tool.parameters;
    assert_eq!(schema["properties"], json!({"a": {"type": "integer"}, "b": {"type": "boolean"}}));
    assert_eq!(schema["required"], json!(["a"]));
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(11), ..ProptestConfig::default() })]
    /// With any collisions of names, every part of the request has one argument, and every argument one part.
    #[test]
    fn parts_and_arguments_are_one_to_one(
        parameters in proptest::collection::btree_set(("(path|query|header|cookie)", "(a|b|body|a_query|body_2)"), 0..9),
        properties in proptest::collection::btree_set("(a|b|body|z|a_query)", 0..4),
        required in any::<bool>(),
    ) {
        let path: String = parameters.iter().filter(|(location, _)| location == "path").map(|(_, name)| format!("/{{{name}}}")).collect();
        let list: Vec<Value> = parameters.iter()
            .map(|(location, name)| json!({"name": name, "in": location, "required": location == "path", "schema": {}})).collect();
        let members: BTreeMap<&String, Value> = properties.iter().map(|name| (name, json!({}))).collect();
        let body = json_body(json!({"properties": members}), required);
        let toolset = toolset(json!({"paths": {format!("{path}/x"): {"put": {"parameters": list, "requestBody": body}}}}));
        let operation = &toolset.operations[0];
        let schema = &operation.tool.parameters;
        let names = schema["properties"].as_object().unwrap();

        let is_whole = matches!(operation.body.as_ref().unwrap().shape, BodyShape::Argument(_));
        let in_body = if is_whole { 1 } else { properties.len() };
        prop_assert_eq!(names.len(), parameters.len() + in_body);
        let arguments: Map<String, Value> = names.keys().map(|name| (name.clone(), json!(name))).collect();
        prop_assert!(accepts(schema, &Value::Object(arguments.clone())));
        let placement = operation.place(&arguments);
        let mut used: Vec<&str> = placement.parameters.iter().filter_map(|(_, value)| value.as_str()).collect();
        let placed: std::collections::BTreeSet<(String, String)> = placement.parameters.iter()
            .map(|(binding, _)| (binding.location.as_str().to_owned(), binding.name.clone())).collect();
        prop_assert_eq!(&placed, &parameters);
        match placement.body.as_ref().unwrap() {
            Value::Object(members) => {
                prop_assert!(members.keys().eq(properties.iter()));
                used.extend(members.values().filter_map(Value::as_str));
            }
            whole => used.extend(whole.as_str()),
        }
        used.sort_unstable();
        let mut all: Vec<&str> = names.keys().map(String::as_str).collect();
        all.sort_unstable();
        prop_assert_eq!(used, all);
    }
}
