//! Parameters that models are not offered, and what requests have instead.

use std::path::Path;

use serde_json::{Value, json};

use super::conventions::CONVENTIONS;
use crate::load::toolset_of;
use crate::{Location, Operation, SecurityScheme, Toolset, ToolsetSettings};

fn toolset(document: Value) -> Toolset {
    toolset_of(document, "api", Path::new("api.json"), &ToolsetSettings::default()).unwrap()
}

/// Returns a document with one operation that has these parameters.
fn document(method: &str, parameters: Value) -> Value {
    json!({
        "openapi": "3.0.3", "info": {"title": "t", "version": "2024-05-01"},
        "servers": [{"url": "https://api.example.com"}],
        "paths": {"/a": {method: {"operationId": "a", "parameters": parameters}}}
    })
}

fn text(name: &str, location: &str) -> Value {
    json!({"name": name, "in": location, "schema": {"type": "string"}})
}

fn required(name: &str, location: &str) -> Value {
    json!({"name": name, "in": location, "required": true, "schema": {"type": "string"}})
}

fn offered(operation: &Operation) -> Vec<&str> {
    operation.tool.parameters["properties"].as_object().unwrap().keys().map(String::as_str).collect()
}

fn hidden(toolset: &Toolset) -> Vec<(&str, Option<&Value>)> {
    toolset.report.hidden.iter().map(|hidden| (hidden.parameter.as_str(), hidden.value.as_ref())).collect()
}

#[test]
fn the_api_version_is_filled_if_the_document_makes_it_evident() {
    let dated = toolset(document("get", json!([required("api-version", "query"), text("name", "query")])));
    assert_eq!(offered(&dated.operations[0]), ["name"]);
    assert_eq!(hidden(&dated), [("api-version", Some(&json!("2024-05-01")))]);
    let arguments = json!({"name": "x"});
    let placed = dated.operations[0].place(arguments.as_object().unwrap());
    let sent: Vec<(&str, &Value)> =
        placed.parameters.iter().map(|(binding, value)| (binding.name.as_str(), *value)).collect();
    assert_eq!(sent, [("api-version", &json!("2024-05-01")), ("name", &json!("x"))]);

    let evident = [
        ("7.1", json!({"type": "string"}), "", Some(json!("7.1"))),
        ("v3", json!({"type": "string", "enum": ["v2", "v3"]}), "", Some(json!("v3"))),
        ("1.0.0", json!({"type": "string"}), "Use 1.0.0.", Some(json!("1.0.0"))),
        ("1.0.0", json!({"type": "string", "default": "2"}), "", Some(json!("2"))),
        ("2024-05-01", json!({"type": "string", "pattern": "^v[0-9]$"}), "", None),
        ("1.0.0", json!({"type": "string"}), "The version.", None),
        ("2.5", json!({"type": "integer"}), "", None),
    ];
    for (version, schema, description, expected) in evident {
        let parameter = json!({"name": "api-version", "in": "query", "required": true, "schema": schema,
            "description": description});
        let mut document = document("get", json!([parameter]));
        document["info"]["version"] = json!(version);
        let toolset = toolset(document);
        let value = toolset.operations[0].fixed.first().map(|fixed| fixed.value.clone());
        assert_eq!(value, expected, "{version} {schema}");
    }
    let other = toolset(document("get", json!([required("version", "query"), text("apiVersion", "query")])));
    assert_eq!(offered(&other.operations[0]), ["version", "apiVersion"], "neither is evident");
}

#[test]
fn an_argument_with_one_allowed_value_is_sent_and_not_offered() {
    let mut document = document(
        "post",
        json!([{"name": "X-Mode", "in": "header", "required": true,
        "schema": {"type": "string", "enum": ["strict"]}}]),
    );
    document["paths"]["/a"]["post"]["requestBody"] = json!({"required": true, "content": {"application/json": {
        "schema": {"type": "object", "required": ["kind", "name"], "properties": {
            "kind": {"type": "string", "enum": ["order"]}, "name": {"type": "string"}}}}}});
    let toolset = toolset(document);
    let operation = &toolset.operations[0];
    assert_eq!(offered(operation), ["name"]);
    assert_eq!(operation.tool.parameters["required"], json!(["name"]));
    let arguments = json!({"name": "x", "kind": "another"});
    let placed = operation.place(arguments.as_object().unwrap());
    assert_eq!(placed.parameters[0].1, "strict");
    assert_eq!(placed.body, Some(json!({"kind": "order", "name": "x"})));
    assert_eq!(hidden(&toolset), [("X-Mode", Some(&json!("strict"))), ("kind", Some(&json!("order")))]);
    assert_eq!(toolset.report.hidden[1].location, "body");
}

#[test]
fn a_security_scheme_covers_the_parameter_of_its_name() {
    let mut document = document("get", json!([text("X-Key", "header"), text("x-key", "query")]));
    document["components"]["securitySchemes"]["k"] = json!({"type": "apiKey", "in": "header", "name": "x-key"});
    let toolset = toolset(document);
    let operation = &toolset.operations[0];
    assert_eq!(offered(operation), ["x-key"], "the query has no scheme");
    let schemes: Vec<Vec<&str>> =
        operation.security.iter().map(|all| all.iter().map(|one| one.scheme.as_str()).collect()).collect();
    assert_eq!(schemes, [vec!["k"], vec![]], "the parameter is optional, and so is the credential");
}

#[test]
fn a_listed_key_without_a_scheme_is_configured_by_name() {
    let toolset = toolset(document("get", json!([required("api_key", "query"), text("q", "query")])));
    assert_eq!(offered(&toolset.operations[0]), ["q"]);
    let scheme = SecurityScheme::ApiKey { location: Location::Query, name: "api_key".to_owned() };
    assert_eq!(toolset.security_schemes["api_key"], scheme);
    assert_eq!(toolset.operations[0].security, [vec!["api_key".into()]]);
    // A lone `key` is an API key only if its description names one.
    for (description, expected) in [("Key of the map.", 1), ("Your API key.", 0)] {
        let mut parameter = required("key", "query");
        parameter["description"] = json!(description);
        let toolset = toolset_of_parameters(json!([parameter]));
        assert_eq!(offered(&toolset.operations[0]).len(), expected, "{description}");
    }
}

fn toolset_of_parameters(parameters: Value) -> Toolset {
    toolset(document("get", parameters))
}

#[test]
fn conventions_apply_only_where_they_are_evident() {
    let google = ["$.xgafv", "alt", "callback", "key", "prettyPrint", "access_token"];
    let mut parameters: Vec<Value> = google.iter().map(|name| text(name, "query")).collect();
    parameters.push(text("fields", "query"));
    let all = toolset_of_parameters(json!(parameters));
    assert_eq!(offered(&all.operations[0]), ["fields"]);
    let some = toolset_of_parameters(json!([text("alt", "query"), text("callback", "query"), text("key", "query")]));
    assert_eq!(offered(&some.operations[0]), ["alt", "callback", "key"]);
    let headers = ["X-Amz-Date", "X-Amz-Security-Token", "Accept-Encoding", "traceparent", "x-amz-acl", "If-Match"];
    let headers: Vec<Value> = headers.iter().map(|name| text(name, "header")).collect();
    let toolset = toolset_of_parameters(json!(headers));
    assert_eq!(offered(&toolset.operations[0]), ["x-amz-acl", "If-Match"]);
    assert!(toolset.security_schemes.is_empty(), "a signature is no key: {:?}", toolset.security_schemes);
    let required_id = toolset_of_parameters(json!([required("X-Request-ID", "header")]));
    assert_eq!(offered(&required_id.operations[0]), ["X-Request-ID"], "nothing else provides it");
    let jsonp = json!({"name": "callback", "in": "query", "description": "For JSON-P.", "schema": {"type": "string"}});
    assert!(offered(&toolset_of_parameters(json!([jsonp])).operations[0]).is_empty());
    let path = self::toolset(json!({
        "openapi": "3.0.3", "info": {"title": "t", "version": "1"},
        "paths": {"/keys/{api_key}": {"delete": {"operationId": "a", "parameters": [required("api_key", "path")]}}}
    }));
    assert_eq!(offered(&path.operations[0]), ["api_key"], "the subject of the request");
}

#[test]
fn a_token_of_most_operations_is_the_one_of_the_security_scheme() {
    let operation = |id: &str, parameters: Value| json!({"operationId": id, "parameters": parameters});
    let document = |security: Value| {
        json!({
            "openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "security": security,
            "components": {"securitySchemes": {"oauth": {"type": "oauth2", "flows": {}}}},
            "paths": {
                "/a": {"get": operation("a", json!([required("token", "query")])),
                    "post": operation("b", json!([required("token", "header")]))},
                "/c": {"get": operation("c", json!([text("pageToken", "query")]))}
            }
        })
    };
    let covered = toolset(document(json!([{"oauth": []}])));
    let all: Vec<Vec<&str>> = covered.operations.iter().map(offered).collect();
    assert_eq!(all, [vec![], vec![], vec!["pageToken"]]);
    let open = toolset(document(json!([])));
    assert_eq!(open.operations.iter().map(|operation| offered(operation).len()).sum::<usize>(), 3);
}

#[test]
fn the_documentation_lists_every_convention() {
    let page = include_str!("../../../../docs/openapi.md");
    for convention in CONVENTIONS {
        let row = page.lines().find(|line| line.starts_with(&format!("| {} |", convention.name)));
        let row = row.unwrap_or_else(|| panic!("docs/openapi.md has no row `{}`", convention.name));
        for name in convention.names.split(' ') {
            assert!(row.contains(&format!("`{name}`")), "{}: {name}", convention.name);
        }
        for source in convention.source.split(" and ") {
            assert!(row.contains(source.trim()), "{}: {source}", convention.name);
        }
    }
}
