//! What counts as a failed outcome.
//!
//! Beyond a status of 400 or more and what never got an answer, some APIs answer 2xx with an error in the body. Which bodies are
//! evidently one is written down as data ([`RULES`]): each rule has bodies that it must recognise and look-alikes that it must not. The
//! rules are conservative; what is only suspicious ([`suspected_code`]) is left to the documentation to decide.

use serde_json::{Map, Value};

use crate::domain::Outcome;
use crate::domain::outcome::ApiAnswer;

/// In which way an outcome failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureKind {
    /// The API answered with this status, 400 or more.
    Status(u16),
    /// The API answered with a lower status, and the body is evidently an error: the name of the rule that says so.
    ErrorBody(&'static str),
    /// The API answered with a lower status and a bare code, which the operation's documentation names as an error.
    NamedCode(String),
    /// Nothing reached the API.
    Unreachable,
    /// The request was sent and no answer came.
    Unknown,
    /// A rule of policy or safety forbade to send it.
    Refused,
}

/// Did an outcome fail, as far as the outcome alone tells?
pub fn is_failure(outcome: &Outcome) -> Option<FailureKind> {
    match outcome {
        Outcome::Answered(answer) if answer.status >= 400 => Some(FailureKind::Status(answer.status)),
        Outcome::Answered(answer) => error_body(answer).map(FailureKind::ErrorBody),
        Outcome::Unreachable { .. } => Some(FailureKind::Unreachable),
        Outcome::Unknown { .. } => Some(FailureKind::Unknown),
        Outcome::Refused { .. } => Some(FailureKind::Refused),
    }
}

/// The code of a body that holds a code and nothing of substance beside it, such as `{"info_code":"20000"}`: an error in one API and
/// success in another, so that only documentation can tell.
pub fn suspected_code(outcome: &Outcome) -> Option<String> {
    let Outcome::Answered(answer) = outcome else { return None };
    let body = object(answer)?;
    let mut codes = body.iter().filter(|(name, _)| is_code_name(name));
    let (_, value) = codes.next()?;
    let bare = body.iter().all(|(name, value)| is_code_name(name) || is_companion(name) || value.is_null());
    (bare && codes.next().is_none()).then(|| scalar(value)).flatten().filter(|code| !is_absent(code))
}

/// A rule that recognises an error in the body of an answer below 400.
pub struct Rule {
    /// Name, as records show it.
    pub name: &'static str,
    /// Is this object an error? Only asked of non-empty JSON objects.
    holds: fn(&Map<String, Value>) -> bool,
    /// Bodies that the rule must recognise.
    pub positive: &'static [&'static str],
    /// Look-alikes that no rule may recognise.
    pub negative: &'static [&'static str],
}

/// The rules, in the order in which they are asked.
pub const RULES: &[Rule] = &[
    Rule {
        name: "error_object",
        holds: |body| body.get("error").and_then(Value::as_object).is_some_and(|error| !error.is_empty()),
        positive: &[
            r#"{"error":{"code":"not_found","message":"No such room"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params"}}"#,
            r#"{"data":null,"error":{"type":"validation"}}"#,
        ],
        negative: &[r#"{"error":null,"data":[]}"#, r#"{"error":{},"id":3}"#, r#"{"log":[{"error":{"code":1}}]}"#],
    },
    Rule {
        name: "error_text",
        holds: |body| {
            body.get("error").and_then(Value::as_str).is_some_and(|error| !is_absent(error)) && only_companions(body)
        },
        positive: &[
            r#"{"error":"invalid_auth"}"#,
            r#"{"error":"invalid_scope","error_description":"The scope is unknown"}"#,
        ],
        negative: &[
            r#"{"error":"","result":1}"#,
            r#"{"error":"none","result":1}"#,
            r#"{"error":0.02,"value":17.5}"#,
            r#"{"error":false,"id":1}"#,
            r#"{"id":7,"state":"done","error":"exit status 1","created_at":"2024-01-01"}"#,
        ],
    },
    Rule {
        name: "error_flag",
        holds: |body| body.get("error") == Some(&Value::Bool(true)) && has_reason(body),
        positive: &[r#"{"error":true,"message":"Quota used up"}"#],
        negative: &[r#"{"error":true,"id":4,"total":2}"#, r#"{"error":false,"message":"Saved"}"#],
    },
    Rule {
        name: "graphql_errors",
        holds: |body| body.contains_key("data") && error_list(body).is_some_and(|list| list.iter().all(has_message)),
        positive: &[
            r#"{"data":null,"errors":[{"message":"Cannot query field `x`","locations":[]}]}"#,
            r#"{"data":{"user":null},"errors":[{"message":"Not found","path":["user"]}]}"#,
        ],
        negative: &[r#"{"data":{"user":1},"errors":[]}"#, r#"{"data":[{"errors":["x"]}]}"#],
    },
    Rule {
        name: "error_list",
        holds: |body| error_list(body).is_some() && body.keys().all(|name| name == "errors" || is_companion(name)),
        positive: &[
            r#"{"errors":["name is required"]}"#,
            r#"{"success":false,"errors":[{"code":1003,"message":"Invalid zone"}],"messages":[],"result":null}"#,
        ],
        negative: &[
            r#"{"errors":[],"success":true}"#,
            r#"{"errors":[{"id":1,"message":"TypeError"}],"total_count":1,"page":1}"#,
            r#"{"errors":null}"#,
            r#"{"success":true,"errors":["one row was skipped"],"imported":41}"#,
            r#"{"errors":3}"#,
        ],
    },
    Rule {
        name: "not_successful",
        holds: |body| {
            ["success", "ok", "succeeded", "is_success", "isSuccess"]
                .iter()
                .any(|name| body.get(*name) == Some(&Value::Bool(false)))
                && (has_reason(body) || body.len() == 1)
        },
        positive: &[
            r#"{"success":false,"message":"The date is in the past"}"#,
            r#"{"ok":false}"#,
            r#"{"ok":false,"error":"missing_scope","needed":"chat:write","provided":"users:read"}"#,
            r#"{"success":false,"data":null,"reason":"closed"}"#,
        ],
        negative: &[
            r#"{"success":true,"message":"Saved"}"#,
            r#"{"ok":false,"service":"mail","checked_at":"2024-05-01"}"#,
            r#"{"success":"false alarm"}"#,
        ],
    },
    Rule {
        name: "status_word",
        holds: |body| {
            let failed = body.get("status").and_then(Value::as_str).is_some_and(|status| {
                ["error", "fail", "failed", "failure"].contains(&status.to_ascii_lowercase().as_str())
            });
            failed && only_companions(body) && body.len() > 1
        },
        positive: &[
            r#"{"status":"error","message":"Unable to reach the database"}"#,
            r#"{"status":"fail","data":{"title":"A title is required"}}"#,
            r#"{"status":"ERROR","code":"E17"}"#,
        ],
        negative: &[
            r#"{"id":12,"status":"failed","name":"nightly build","message":"2 tests failed"}"#,
            r#"{"status":"success","message":"No error"}"#,
            r#"{"status":"failed"}"#,
        ],
    },
    Rule {
        name: "status_zero",
        holds: |body| {
            let zero = body.get("status").and_then(scalar).is_some_and(|status| status == "0" || status == "false");
            zero && only_companions(body) && body.iter().any(|(name, value)| is_code_name(name) && is_error_code(value))
        },
        positive: &[
            r#"{"status":"0","info":"INVALID_PARAMS","infocode":"20000"}"#,
            r#"{"status":0,"info_code":"20003","message":"unknown error"}"#,
        ],
        negative: &[
            r#"{"status":"1","info":"OK","infocode":"10000","route":{}}"#,
            r#"{"status":0,"result":{"formatted":"x"}}"#,
            r#"{"status":0,"code":0,"message":"ok"}"#,
        ],
    },
    Rule {
        name: "error_code",
        holds: |body| {
            body.iter().any(|(name, value)| is_error_code_name(name) && is_error_code(value))
                && (says_why(body) || only_companions(body))
        },
        positive: &[
            r#"{"errcode":40013,"errmsg":"invalid appid"}"#,
            r#"{"error_code":110,"error_msg":"Access token invalid","log_id":99}"#,
            r#"{"errorCode":"E-17"}"#,
        ],
        negative: &[
            r#"{"errcode":0,"errmsg":"ok","openid":"x"}"#,
            r#"{"error_code":null,"name":"n"}"#,
            r#"{"errorCode":"","value":1}"#,
            r#"{"id":1,"errorCode":"E-17","device":"pump","seen":"2024-01-01"}"#,
        ],
    },
    Rule {
        name: "problem_details",
        holds: |body| {
            body.get("status").and_then(Value::as_u64).is_some_and(|status| (400..600).contains(&status))
                && body.get("title").is_some_and(Value::is_string)
                && (body.contains_key("type") || body.contains_key("detail"))
        },
        positive: &[r#"{"type":"about:blank","title":"Not Found","status":404}"#],
        negative: &[r#"{"type":"report","title":"404 pages","status":200}"#, r#"{"title":"Room 404","status":"open"}"#],
    },
];

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

fn error_list(body: &Map<String, Value>) -> Option<&Vec<Value>> {
    let list = body.get("errors")?.as_array()?;
    (!list.is_empty() && list.iter().all(|entry| entry.is_object() || entry.is_string())).then_some(list)
}

fn has_message(entry: &Value) -> bool {
    entry.get("message").is_some_and(Value::is_string)
}

/// Does a member say why, in words or by a code?
fn has_reason(body: &Map<String, Value>) -> bool {
    says_why(body) || body.iter().any(|(name, value)| is_code_name(name) && is_error_code(value))
}

/// Does a member say why, in words?
fn says_why(body: &Map<String, Value>) -> bool {
    body.iter().filter(|(name, _)| REASONS.contains(&folded(name).as_str())).any(|(_, value)| match value {
        Value::String(text) => !is_absent(text),
        Value::Array(list) => !list.is_empty(),
        _ => false,
    })
}

/// Members that say why something failed (names folded).
const REASONS: [&str; 14] = [
    "message",
    "messages",
    "msg",
    "errmsg",
    "errormsg",
    "errormessage",
    "error",
    "errors",
    "reason",
    "detail",
    "details",
    "description",
    "errordescription",
    "erroruri",
];

/// Members that come with an error and carry no result (names folded); codes and reasons beside them.
const COMPANIONS: [&str; 19] = [
    "status",
    "success",
    "ok",
    "info",
    "data",
    "result",
    "extensions",
    "jsonapi",
    "meta",
    "type",
    "title",
    "hint",
    "help",
    "path",
    "timestamp",
    "requestid",
    "traceid",
    "logid",
    "documentationurl",
];

/// May the member stand beside an error without being a result?
fn is_companion(name: &str) -> bool {
    let name = folded(name);
    COMPANIONS.contains(&name.as_str()) || REASONS.contains(&name.as_str())
}

fn only_companions(body: &Map<String, Value>) -> bool {
    body.keys().all(|name| is_companion(name) || is_code_name(name))
}

/// `code`, or a vendor's name for one: `info_code`, `errcode`, `resultCode`, `errno`.
pub(super) fn is_code_name(name: &str) -> bool {
    let name = folded(name);
    name == "errno" || CODE_PREFIXES.iter().any(|prefix| name.strip_prefix(prefix) == Some("code"))
}

/// What stands before `code` in the member names of vendors (folded). A `postcode` or `countrycode` is a result.
const CODE_PREFIXES: [&str; 12] =
    ["", "error", "err", "info", "status", "result", "ret", "return", "response", "fault", "sub", "reason"];

/// A name for a code that only errors have.
fn is_error_code_name(name: &str) -> bool {
    matches!(folded(name).as_str(), "errcode" | "errorcode" | "errno" | "faultcode")
}

/// A code that is neither empty nor the customary zero of success.
fn is_error_code(value: &Value) -> bool {
    scalar(value).is_some_and(|code| !is_absent(&code))
}

/// Words and numbers that say "no error".
pub(super) fn is_absent(text: &str) -> bool {
    let text = text.trim().to_ascii_lowercase();
    let zero = !text.is_empty() && text.bytes().all(|byte| byte == b'0');
    zero || matches!(text.as_str(), "" | "none" | "null" | "nil" | "ok" | "success" | "no error" | "n/a" | "false")
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// A member name without case and separators.
fn folded(name: &str) -> String {
    name.chars().filter(|character| character.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: u16, body: &str) -> Outcome {
        Outcome::Answered(ApiAnswer { status, headers: Vec::new(), body: body.to_owned().into(), truncated: false })
    }

    #[test]
    fn every_rule_recognises_its_positive_cases() {
        for rule in RULES {
            for body in rule.positive {
                let body_object: Map<String, Value> = serde_json::from_str(body).unwrap();
                assert!((rule.holds)(&body_object), "{}: {body}", rule.name);
                assert!(matches!(is_failure(&answered(200, body)), Some(FailureKind::ErrorBody(_))), "{body}");
            }
        }
    }

    #[test]
    fn no_rule_recognises_a_negative_case_of_any_rule() {
        for body in RULES.iter().flat_map(|rule| rule.negative) {
            assert_eq!(is_failure(&answered(200, body)), None, "{body}");
        }
    }

    #[test]
    fn every_rule_has_cases_of_both_kinds() {
        assert!(RULES.iter().all(|rule| !rule.positive.is_empty() && !rule.negative.is_empty()));
    }

    #[test]
    fn a_status_of_400_or_more_fails_whatever_the_body() {
        assert_eq!(is_failure(&answered(404, "")), Some(FailureKind::Status(404)));
        assert_eq!(is_failure(&answered(302, "")), None);
    }

    #[test]
    fn what_never_got_an_answer_failed() {
        let reason = String::new();
        assert_eq!(is_failure(&Outcome::Unknown { reason: reason.clone() }), Some(FailureKind::Unknown));
        assert_eq!(is_failure(&Outcome::Unreachable { reason: reason.clone() }), Some(FailureKind::Unreachable));
        assert_eq!(is_failure(&Outcome::Refused { reason }), Some(FailureKind::Refused));
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
            assert_eq!(is_failure(&answered(200, body)), None, "{body}");
            assert_eq!(suspected_code(&answered(200, body)), None, "{body}");
        }
    }

    #[test]
    fn a_problem_is_told_by_its_media_type() {
        let headers = vec![("content-type".to_owned(), "application/problem+json; charset=utf-8".to_owned())];
        let answer = ApiAnswer { status: 200, headers, body: "{}".into(), truncated: false };
        assert_eq!(is_failure(&Outcome::Answered(answer)), Some(FailureKind::ErrorBody("problem_details")));
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
