//! What counts as a failed outcome: of a call that the proxy executed ([`is_failure`]), and in a message of a client's tool
//! ([`recognise`]).
//!
//! What policy says about an outcome holds first (`ruled`). Beyond a status of 400 or more and what never got an answer, some APIs answer
//! 2xx with an error in the body: [`RULES`] say which bodies are evidently one.

mod error_rules;
mod message;
mod ruled;

use serde_json::{Map, Value};

pub use self::error_rules::{RULES, Rule};
pub use self::message::{Grounds, Recognised, ToolMessage, recognise};
use self::ruled::{Subject, ruling};
use super::body_words::{is_absent, is_code_name, is_companion, scalar};
use crate::domain::Outcome;
use crate::domain::outcome::ApiAnswer;
use crate::domain::rules::{FailureRule, RuledOutcome};

/// In which way an outcome failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureKind {
    /// The API answered with this status, 400 or more.
    Status(u16),
    /// The API answered with a lower status, and the body is evidently an error: the name of the rule that says so.
    ErrorBody(&'static str),
    /// A rule of policy says that it failed: its place in the list, from 0.
    Ruled(usize),
    /// The API answered with a lower status and a bare code, which the operation's documentation names as an error.
    NamedCode(String),
    /// Nothing reached the API.
    Unreachable,
    /// The request was sent and no answer came.
    Unknown,
    /// It was not sent: a rule of policy or safety forbids it, or a credential that it needs cannot be had.
    Refused,
}

/// What an outcome says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judged {
    /// It failed.
    Failed(FailureKind),
    /// It did not: a rule of policy says so, or nothing was tried.
    Fine,
    /// Nothing speaks for a failure.
    Silent,
}

impl Judged {
    /// In which way it failed, if it did.
    pub fn failure(self) -> Option<FailureKind> {
        match self {
            Self::Failed(kind) => Some(kind),
            Self::Fine | Self::Silent => None,
        }
    }
}

/// Did an outcome fail, as far as the outcome alone and the policy's rules tell? `tool` is `toolset/tool`.
pub fn is_failure(outcome: &Outcome, tool: &str, rules: &[FailureRule]) -> Judged {
    match outcome {
        Outcome::Answered(answer) => match ruled(answer, tool, rules) {
            Some((index, RuledOutcome::Failed)) => Judged::Failed(FailureKind::Ruled(index)),
            Some((_, RuledOutcome::Fine)) => Judged::Fine,
            None if answer.status >= 400 => Judged::Failed(FailureKind::Status(answer.status)),
            None => error_body(answer).map_or(Judged::Silent, |rule| Judged::Failed(FailureKind::ErrorBody(rule))),
        },
        Outcome::Unreachable { .. } => Judged::Failed(FailureKind::Unreachable),
        Outcome::Unknown { .. } => Judged::Failed(FailureKind::Unknown),
        Outcome::Refused { .. } | Outcome::Unauthorised { .. } => Judged::Failed(FailureKind::Refused),
        // Nothing was tried that documentation could explain.
        Outcome::Unapproved(_) => Judged::Fine,
    }
}

fn ruled(answer: &ApiAnswer, tool: &str, rules: &[FailureRule]) -> Option<(usize, RuledOutcome)> {
    if rules.is_empty() {
        return None;
    }
    let json: Option<Value> = serde_json::from_slice(&answer.body).ok();
    let subject = Subject { tool, status: Some(answer.status), text: &answer.text(), json: json.as_ref() };
    ruling(rules, &subject)
}

/// The code of a body that holds a code and nothing of substance beside it, such as `{"info_code":"20000"}`: an error in one API and
/// success in another, so that only documentation can tell.
pub(super) fn suspected_code(outcome: &Outcome) -> Option<String> {
    let Outcome::Answered(answer) = outcome else { return None };
    let body = object(answer)?;
    let mut codes = body.iter().filter(|(name, _)| is_code_name(name));
    let (_, value) = codes.next()?;
    let bare = body.iter().all(|(name, value)| is_code_name(name) || is_companion(name) || value.is_null());
    (bare && codes.next().is_none()).then(|| scalar(value)).flatten().filter(|code| !is_absent(code))
}

/// The name of the first rule that recognises an error in the body.
fn error_body(answer: &ApiAnswer) -> Option<&'static str> {
    // RFC 9457 section 3: the media type alone says that the content is a problem.
    if answer.header("content-type").is_some_and(|kind| kind.trim().starts_with("application/problem+json")) {
        return Some("problem_details");
    }
    let body = object(answer)?;
    RULES.iter().find(|rule| (rule.holds)(&body)).map(|rule| rule.name)
}

/// The body as a non-empty JSON object.
fn object(answer: &ApiAnswer) -> Option<Map<String, Value>> {
    let body: Map<String, Value> = serde_json::from_slice(&answer.body).ok()?;
    (!body.is_empty()).then_some(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: u16, body: &str) -> Outcome {
        Outcome::Answered(ApiAnswer {
            status,
            headers: Vec::new(),
            body: body.to_owned().into(),
            truncated: false,
            paging: Default::default(),
        })
    }

    fn failed(outcome: &Outcome) -> Option<FailureKind> {
        is_failure(outcome, "api/tool", &[]).failure()
    }

    fn failure(status: u16, body: &str) -> Option<FailureKind> {
        failed(&answered(status, body))
    }

    #[test]
    fn what_policy_says_holds_before_status_and_body() {
        let rules: Vec<FailureRule> = serde_json::from_str(
            r#"[{"tools":["api/get"],"status":[404],"outcome":"fine"},{"at":"/state","values":["broken"],"outcome":"failed"},
                {"at":"/error/soft","values":[true],"outcome":"fine"}]"#,
        )
        .unwrap();
        let judged = |tool: &str, status, body: &str| is_failure(&answered(status, body), tool, &rules);
        assert_eq!(judged("api/get", 404, ""), Judged::Fine);
        assert_eq!(judged("api/put", 404, ""), Judged::Failed(FailureKind::Status(404)));
        assert_eq!(judged("api/put", 200, r#"{"state":"broken"}"#), Judged::Failed(FailureKind::Ruled(1)));
        assert_eq!(judged("api/put", 200, r#"{"error":{"soft":true}}"#), Judged::Fine);
        assert_eq!(judged("api/put", 200, r#"{"state":"fine"}"#), Judged::Silent);
    }

    #[test]
    fn every_rule_recognises_its_positive_cases() {
        for rule in RULES {
            for body in rule.positive {
                let body_object: Map<String, Value> = serde_json::from_str(body).unwrap();
                assert!((rule.holds)(&body_object), "{}: {body}", rule.name);
                assert!(matches!(failure(200, body), Some(FailureKind::ErrorBody(_))), "{body}");
            }
        }
    }

    #[test]
    fn no_rule_recognises_a_negative_case_of_any_rule() {
        for body in RULES.iter().flat_map(|rule| rule.negative) {
            assert_eq!(failure(200, body), None, "{body}");
        }
    }

    #[test]
    fn every_rule_has_cases_of_both_kinds() {
        assert!(RULES.iter().all(|rule| !rule.positive.is_empty() && !rule.negative.is_empty()));
    }

    #[test]
    fn a_status_of_400_or_more_fails_whatever_the_body() {
        assert_eq!(failure(404, ""), Some(FailureKind::Status(404)));
        assert_eq!(failure(302, ""), None);
    }

    #[test]
    fn what_never_got_an_answer_failed() {
        let reason = String::new();
        assert_eq!(failed(&Outcome::Unknown { reason: reason.clone() }), Some(FailureKind::Unknown));
        assert_eq!(failed(&Outcome::Unreachable { reason: reason.clone() }), Some(FailureKind::Unreachable));
        assert_eq!(failed(&Outcome::Refused { reason }), Some(FailureKind::Refused));
    }

    #[test]
    fn ordinary_bodies_do_not_fail() {
        for body in [
            "",
            "[]",
            "null",
            "{}",
            "text with error",
            "[{\"error\":\"x\"}]",
            "{\"id\":1}",
            "{\"error",
            "<error>no</error>",
        ] {
            assert_eq!(failure(200, body), None, "{body}");
            assert_eq!(suspected_code(&answered(200, body)), None, "{body}");
        }
    }

    #[test]
    fn a_problem_is_told_by_its_media_type() {
        let headers = vec![("content-type".to_owned(), "application/problem+json; charset=utf-8".to_owned())];
        let answer =
            ApiAnswer { status: 200, headers, body: "{}".into(), truncated: false, paging: Default::default() };
        assert_eq!(failed(&Outcome::Answered(answer)), Some(FailureKind::ErrorBody("problem_details")));
    }

    #[test]
    fn a_bare_code_is_suspected_and_a_code_beside_results_is_not() {
        assert_eq!(suspected_code(&answered(200, r#"{"info_code":"20000"}"#)).as_deref(), Some("20000"));
        assert_eq!(suspected_code(&answered(200, r#"{"code":7,"message":"x"}"#)).as_deref(), Some("7"));
        for body in [
            r#"{"info_code":"10000","routes":[]}"#,
            r#"{"code":0}"#,
            r#"{"postcode":"20000"}"#,
            r#"{"code":"A","error_code":"B"}"#,
        ] {
            assert_eq!(suspected_code(&answered(200, body)), None, "{body}");
        }
    }
}
