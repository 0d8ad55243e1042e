//! Helpers for the tests of single rules, and tests of the table of rules.

mod confusable_names;
mod cut_description;
mod missing_description;
mod missing_example;
mod missing_operation_id;
mod missing_server;
mod same_description;
mod undocumented_errors;
mod unexplained_parameter;
mod unexplained_values;

use std::collections::HashSet;
use std::path::Path;

use serde_json::{Value, json};

use super::{Rule, advise};
use crate::document::ApiDocument;
use crate::load::toolset_of;
use crate::report::Advice;
use crate::{DocumentLimits, ToolsetSettings};

/// Returns the advice of `rules` on `document`, which is `api.json`.
fn advised(rules: &[Rule], document: Value) -> Vec<Advice> {
    let path = Path::new("api.json");
    let toolset = toolset_of(document.clone(), "api", path, &ToolsetSettings::default()).unwrap();
    assert_eq!(toolset.report.operations_skipped, []);
    advise(&ApiDocument::new(document, path).unwrap(), &toolset, &DocumentLimits::default(), rules)
}

/// Returns the advice of the rule `code` on `document`.
pub(super) fn advice_on(code: &str, document: Value) -> Vec<Advice> {
    let found = advised(&[Rule::named(code).unwrap()], document);
    assert!(found.iter().all(|advice| advice.code == code));
    found
}

/// Returns the advice of the rule `code` on the only operation of a document, `POST /x/{id}`.
pub(super) fn advice_on_operation(code: &str, operation: Value) -> Vec<Advice> {
    let schemas = json!({"Explained": {"type": "string", "description": "explained"}});
    advice_on(
        code,
        json!({"openapi": "3.0.0", "paths": {"/x/{id}": {"post": operation}}, "components": {"schemas": schemas}}),
    )
}

/// Returns operations and messages.
pub(super) fn messages(found: &[Advice]) -> Vec<(&str, &str)> {
    found.iter().map(|advice| (advice.operation.as_str(), advice.message.as_str())).collect()
}

#[test]
fn every_rule_has_a_unique_code_that_the_command_line_accepts() {
    let codes: HashSet<&str> = Rule::ALL.iter().map(|rule| rule.code).collect();
    assert_eq!(codes.len(), Rule::ALL.len());
    assert!(codes.iter().all(|code| code.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-')));
    assert!(Rule::ALL.iter().all(|rule| Rule::named(rule.code) == Some(*rule)));
    assert_eq!(Rule::named("no-such-rule"), None);
}

/// Returns a well-written document.
fn exemplary() -> Value {
    json!({
        "openapi": "3.0.0",
        "servers": [{"url": "https://shop.example"}],
        "paths": {"/orders/{id}": {"get": {
            "operationId": "getOrder",
            "description": "Gives one order with its items. Use `listOrders` where the number is not known.",
            "parameters": [{"name": "id", "in": "path", "required": true, "description": "The order's number.",
                "schema": {"type": "string", "pattern": "^[A-Z]{2}-\\d+$"}, "example": "AB-1"}],
            "responses": {"200": {"description": "The order."}, "404": {"description": "No order has this number."}}
        }}}
    })
}

#[test]
fn a_complete_document_has_no_advice() {
    assert_eq!(advised(&Rule::ALL, exemplary()), []);
}

#[test]
fn only_selected_rules_run_and_report_in_document_order() {
    let document = json!({"openapi": "3.0.0", "paths": {"/a": {"get": {}, "post": {}}}});
    let codes = |rules: &[Rule]| advised(rules, document.clone()).iter().map(|advice| advice.code).collect::<Vec<_>>();
    assert_eq!(codes(&[]), Vec::<&str>::new());
    let operation = ["missing-operation-id", "missing-description", "undocumented-errors"];
    assert_eq!(codes(&Rule::ALL), [&["missing-server"][..], &operation, &operation].concat());
    let rules = [Rule::named("missing-description").unwrap()];
    assert_eq!(codes(&rules), ["missing-description"; 2]);
}

#[test]
fn skipped_operations_get_no_advice() {
    let mut document = exemplary();
    document["paths"]["/a"] = json!({"post": {"parameters": [{"$ref": "#/none"}]}});
    document["paths"]["/b"] = json!({"get": {"operationId": "b"}});
    let path = Path::new("api.json");
    let toolset = toolset_of(document.clone(), "api", path, &ToolsetSettings::default()).unwrap();
    let found = advise(&ApiDocument::new(document, path).unwrap(), &toolset, &DocumentLimits::default(), &Rule::ALL);
    assert_eq!((toolset.report.operations_skipped.len(), toolset.operations.len()), (1, 2));
    assert!(!found.is_empty() && found.iter().all(|advice| advice.operation == "GET /b"), "{found:?}");
}
