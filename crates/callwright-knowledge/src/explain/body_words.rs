//! The words that error bodies are made of: names of members, and values that say "no error".

use callwright_common::json::scalar_text;
use serde_json::{Map, Value};

/// Does a member say why, in words or by a code?
pub(super) fn has_reason(body: &Map<String, Value>) -> bool {
    says_why(body) || body.iter().any(|(name, value)| is_code_name(name) && is_error_code(value))
}

/// Does a member say why, in words?
pub(super) fn says_why(body: &Map<String, Value>) -> bool {
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
pub(super) fn is_companion(name: &str) -> bool {
    let name = folded(name);
    COMPANIONS.contains(&name.as_str()) || REASONS.contains(&name.as_str())
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
pub(super) fn is_error_code_name(name: &str) -> bool {
    matches!(folded(name).as_str(), "errcode" | "errorcode" | "errno" | "faultcode")
}

/// A code that is neither empty nor the customary zero of success.
pub(super) fn is_error_code(value: &Value) -> bool {
    scalar(value).is_some_and(|code| !is_absent(&code))
}

/// Words and numbers that say "no error".
pub(super) fn is_absent(text: &str) -> bool {
    let text = text.trim().to_ascii_lowercase();
    let zero = !text.is_empty() && text.bytes().all(|byte| byte == b'0');
    zero || matches!(text.as_str(), "" | "none" | "null" | "nil" | "ok" | "success" | "no error" | "n/a" | "false")
}

/// A single value as text.
pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Bool(flag) => Some(flag.to_string()),
        other => scalar_text(other),
    }
}

/// What HTTP calls a status (RFC 9110 section 15).
pub(super) fn reason_of(status: u16) -> Option<&'static str> {
    http::StatusCode::from_u16(status).ok()?.canonical_reason()
}

/// A name without case and separators.
pub(super) fn folded(name: &str) -> String {
    name.chars().filter(|character| character.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
