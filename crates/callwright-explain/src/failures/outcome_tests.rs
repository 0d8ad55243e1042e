//! Tests of the classification of executed calls' outcomes.

use serde_json::Map;

use super::error_rules::RULES;
use super::tests::rule_cases;
use super::*;
use callwright_types::{Refusal, RefusalReason};

fn answered(status: u16, body: &str) -> Outcome {
    Outcome::Answered(ApiAnswer::new(status, body.to_owned()))
}

fn json(outcome: &Outcome) -> Option<Value> {
    let Outcome::Answered(answer) = outcome else { return None };
    serde_json::from_slice(&answer.body).ok()
}

fn suspected(body: &str) -> Option<String> {
    suspected_code(json(&answered(200, body)).as_ref())
}

fn failed(outcome: &Outcome) -> Option<FailureKind> {
    is_failure(outcome, json(outcome).as_ref(), "api/tool", &[]).failure()
}

fn failure(status: u16, body: &str) -> Option<FailureKind> {
    failed(&answered(status, body))
}

#[test]
fn policy_rules_take_precedence_over_status_and_body() {
    let rules: Vec<FailureRule> = serde_json::from_str(
        r#"[{"tools":["api/get"],"status":[404],"outcome":"fine"},{"at":"/state","values":["broken"],"outcome":"failed"},
            {"at":"/error/soft","values":[true],"outcome":"fine"}]"#,
    )
    .unwrap();
    let judged = |tool: &str, status, body: &str| {
        let outcome = answered(status, body);
        is_failure(&outcome, json(&outcome).as_ref(), tool, &rules)
    };
    assert_eq!(judged("api/get", 404, ""), FailureVerdict::Fine);
    assert_eq!(judged("api/put", 404, ""), FailureVerdict::Failed(FailureKind::Status(404)));
    assert_eq!(judged("api/put", 200, r#"{"state":"broken"}"#), FailureVerdict::Failed(FailureKind::Ruled(1)));
    assert_eq!(judged("api/put", 200, r#"{"error":{"soft":true}}"#), FailureVerdict::Fine);
    assert_eq!(judged("api/put", 200, r#"{"state":"fine"}"#), FailureVerdict::Undecided);
}

#[test]
fn every_rule_recognises_its_cases() {
    let cases = rule_cases();
    for (rule, holds) in RULES {
        for body in &cases[*rule].failures {
            let body_object: Map<String, Value> = serde_json::from_str(body).unwrap();
            assert!(holds(&body_object), "{rule}: {body}");
            assert!(matches!(failure(200, body), Some(FailureKind::ErrorBody(_))), "{body}");
        }
    }
}

#[test]
fn no_rule_recognises_a_look_alike_of_any_rule() {
    let cases = rule_cases();
    for body in RULES.iter().flat_map(|(rule, _)| &cases[*rule].look_alikes) {
        assert_eq!(failure(200, body), None, "{body}");
    }
}

#[test]
fn every_rule_has_cases_of_both_kinds() {
    assert!(rule_cases().values().all(|cases| !cases.failures.is_empty() && !cases.look_alikes.is_empty()));
}

#[test]
fn a_redirect_or_an_error_status_fails_whatever_the_body() {
    for status in [302, 307, 404, 500] {
        assert_eq!(failure(status, ""), Some(FailureKind::Status(status)));
    }
    assert_eq!(failure(304, ""), None);
}

#[test]
fn unanswered_requests_are_failures() {
    let reason = String::new();
    assert_eq!(failed(&Outcome::Unknown { reason: reason.clone() }), Some(FailureKind::Unknown));
    assert_eq!(failed(&Outcome::Unreachable { reason: reason.clone() }), Some(FailureKind::Unreachable));
    assert_eq!(
        failed(&Outcome::Refused(Refusal::new(RefusalReason::PolicyDenied, reason))),
        Some(FailureKind::Refused)
    );
}

#[test]
fn ordinary_bodies_do_not_fail() {
    for body in [
        "", "[]", "null", "{}", "text with error", "[{\"error\":\"x\"},{\"id\":2}]", "{\"id\":1}", "{\"error",
        "<items><error>no</error></items>",
    ] {
        assert_eq!(failure(200, body), None, "{body}");
        assert_eq!(suspected(body), None, "{body}");
    }
}

#[test]
fn problem_details_are_recognised_by_media_type() {
    let headers = vec![("content-type".to_owned(), "application/problem+json; charset=utf-8".to_owned())];
    let answer = ApiAnswer { status: 200, headers, body: "{}".into(), truncated: false, paging: Default::default() };
    assert_eq!(failed(&Outcome::Answered(answer)), Some(FailureKind::ErrorBody("problem_details")));
}

#[test]
fn a_bare_code_is_suspected_and_a_code_beside_results_is_not() {
    assert_eq!(suspected(r#"{"info_code":"20000"}"#).as_deref(), Some("20000"));
    assert_eq!(suspected(r#"{"code":7,"message":"x"}"#).as_deref(), Some("7"));
    for body in [
        r#"{"info_code":"10000","routes":[]}"#, r#"{"code":0}"#, r#"{"postcode":"20000"}"#,
        r#"{"code":"A","error_code":"B"}"#,
    ] {
        assert_eq!(suspected(body), None, "{body}");
    }
}
