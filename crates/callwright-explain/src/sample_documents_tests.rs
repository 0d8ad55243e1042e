//! Tests of explanations from the documents of the sample APIs.

use std::path::PathBuf;

use futures_util::FutureExt;
use serde_json::{Value, json};

use super::{Explainer, FailureKind, OperationDocs, Settings};
use callwright_openapi::{ToolsetSettings, load_document};
use callwright_types::outcome::ApiAnswer;
use callwright_types::{OperationRef, Outcome};

/// Builds the explainer of one of the documents in `openapi/`.
fn explainer(document: &str) -> Explainer {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("openapi").join(document);
    let toolset = load_document("sample", &path, &ToolsetSettings::default()).unwrap();
    let docs = toolset.operations.iter().map(|operation| OperationDocs {
        toolset: toolset.name.clone(),
        tool: operation.tool.name.clone(),
        texts: toolset.documentation_of(operation).cloned().collect(),
    });
    Explainer::build(docs.collect(), Vec::new(), &Settings::default())
}

fn operation(tool: &str) -> OperationRef {
    OperationRef { toolset: "sample".into(), tool: tool.into() }
}

fn answered(status: u16, body: &str) -> Outcome {
    Outcome::Answered(ApiAnswer::new(status, body.to_owned()))
}

fn first(explainer: &Explainer, tool: &str, outcome: &Outcome, arguments: &Value) -> String {
    let operation = operation(tool);
    let explanation = explainer.explain(&operation, outcome, arguments.as_object().unwrap());
    let explanation = futures_util::FutureExt::now_or_never(explanation).unwrap();
    explanation.passages.first().map(|passage| passage.text.clone()).unwrap_or_default()
}

#[test]
fn a_bare_route_planner_code_is_explained_at_any_status() {
    let explainer = explainer("route-planner.yaml");
    let arguments = json!({"origin": "34.6937,135.5023", "destination": "35.0116,135.7681"});
    for (status, kind) in [(200, FailureKind::NamedCode("20000".into())), (400, FailureKind::Status(400))] {
        let outcome = answered(status, r#"{"info_code":"20000"}"#);
        assert_eq!(explainer.failure(&operation("planRoute"), &outcome, &[], &[]).now_or_never().unwrap(), Some(kind));
        let passage = first(&explainer, "planRoute", &outcome, &arguments);
        assert!(passage.contains("the longitude precedes the latitude"), "{status}: {passage}");
    }
    let passage = first(&explainer, "planRoute", &answered(401, r#"{"info_code":"10001"}"#), &arguments);
    assert!(passage.contains("The key is wrong"), "{passage}");
}

#[test]
fn the_route_planner_s_code_of_success_is_no_failure() {
    let explainer = explainer("route-planner.yaml");
    for body in [r#"{"info_code":"10000"}"#, r#"{"info_code":"10000","routes":[]}"#] {
        assert_eq!(
            explainer.failure(&operation("planRoute"), &answered(200, body), &[], &[]).now_or_never().unwrap(),
            None,
            "{body}"
        );
    }
}

#[test]
fn room_codes_are_explained_by_the_responses_that_define_them() {
    let explainer = explainer("meeting-rooms.yaml");
    let arguments =
        json!({"person_id": "Grace", "room_id": "r-204", "start": "2026-06-02T10:00", "end": "2026-06-02T11:00"});
    let cases = [
        (409, "E_CONFLICT", "already booked"),
        (404, "E_UNKNOWN", "names are not ids"),
        (400, "E_FIELDS", "a field is missing"),
        (401, "E_TOKEN", "missing or wrong"),
    ];
    for (status, code, expected) in cases {
        let outcome = answered(status, &json!({"error": code}).to_string());
        let passage = first(&explainer, "createBooking", &outcome, &arguments);
        assert!(passage.contains(expected), "{code}: {passage}");
    }
}
