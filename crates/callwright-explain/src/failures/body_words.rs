//! Vocabulary of error bodies: member names, and values that mean "no error".

use serde_json::{Map, Value};

use crate::word_list::WordList;
use callwright_common::json::scalar_text;
use callwright_common::text::letters;

/// Whether a member gives a reason, in words or by a code.
pub(crate) fn has_reason(body: &Map<String, Value>) -> bool {
    states_reason(body) || body.iter().any(|(name, value)| is_code_name(name) && is_error_code(value))
}

/// Whether a member gives a reason in words.
pub(crate) fn states_reason(body: &Map<String, Value>) -> bool {
    body.iter().filter(|(name, _)| REASONS.contains(&letters(name))).any(|(_, value)| match value {
        Value::String(text) => !is_absent(text),
        Value::Array(list) => !list.is_empty(),
        _ => false,
    })
}

/// Members that contain the reason of an error (names folded).
const REASONS: WordList = WordList(
    "message messages msg errmsg errormsg errormessage error errors reason detail details description \
     errordescription erroruri",
);

/// Members that accompany an error without being a result (names folded), in addition to codes and reasons.
const COMPANIONS: WordList = WordList(
    "status success ok info data result extensions jsonapi meta type title hint help path timestamp requestid \
     traceid logid documentationurl",
);

/// Whether the member may accompany an error without being a result.
pub(crate) fn is_companion(name: &str) -> bool {
    let name = letters(name);
    COMPANIONS.contains(&name) || REASONS.contains(&name)
}

/// Whether the name is `code` or a vendor's equivalent: `info_code`, `errcode`, `resultCode`, `errno`.
pub(crate) fn is_code_name(name: &str) -> bool {
    let name = letters(name);
    name == "errno" || CODE_PREFIXES.iter().any(|prefix| name.strip_prefix(prefix) == Some("code"))
}

/// Prefixes of `code` in the member names of vendors (folded). A `postcode` or `countrycode` is a result.
const CODE_PREFIXES: [&str; 12] =
    ["", "error", "err", "info", "status", "result", "ret", "return", "response", "fault", "sub", "reason"];

/// Whether the name denotes a code that only errors have.
pub(crate) fn is_error_code_name(name: &str) -> bool {
    matches!(letters(name).as_str(), "errcode" | "errorcode" | "errno" | "faultcode")
}

/// Whether the code is neither empty nor the customary zero of success.
pub(crate) fn is_error_code(value: &Value) -> bool {
    scalar(value).is_some_and(|code| !is_absent(&code))
}

/// Whether the text is empty or means "no error".
pub(crate) fn is_absent(text: &str) -> bool {
    let text = text.trim().to_ascii_lowercase();
    let zero = !text.is_empty() && text.bytes().all(|byte| byte == b'0');
    zero || matches!(text.as_str(), "" | "none" | "null" | "nil" | "ok" | "success" | "no error" | "n/a" | "false")
}

/// Converts a scalar to text.
pub(crate) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Bool(flag) => Some(flag.to_string()),
        other => scalar_text(other),
    }
}

/// Returns the reason phrase of an HTTP status (RFC 9110 section 15).
pub(crate) fn reason_of(status: u16) -> Option<&'static str> {
    http::StatusCode::from_u16(status).ok()?.canonical_reason()
}

/// Members that accompany errors, in addition to the companions of any response (names folded): the request, the error
/// location, parts of an HTTP message, and support data.
const BESIDE_ERRORS: WordList = WordList(
    "body headers header response content text statustext statuscode httpstatus httpstatuscode httpcode \
     httpmessage instance method request requestbody stack stacktrace trace traceback exception exceptiontype \
     exceptionmessage errortype errors errordetails errordetail errorid errorinfo errorkey errorcategory fault \
     faultstring fields field param parameter params validationerrors violations invalidparams jsonrpc apiversion \
     version correlationid moreinfo moreinformation documentation doclink errorurl retryable needed provided \
     iserror haserror failed issuccess succeeded successful suggestion suggestions docs hints severity category \
     reference domain target cause causes innererror causedby referenceid statusmessage link",
);

/// Returns a member by its name, ignoring case and separators.
pub(crate) fn member<'a>(body: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    body.iter().find(|(key, _)| letters(key) == name).map(|(_, value)| value)
}

/// Returns the members with one of these names, ignoring case and separators.
pub(crate) fn members<'a>(body: &'a Map<String, Value>, names: &[&str]) -> Vec<&'a Value> {
    body.iter().filter(|(key, _)| names.contains(&letters(key).as_str())).map(|(_, value)| value).collect()
}

/// Returns the texts of the members with one of these names.
pub(crate) fn texts<'a>(body: &'a Map<String, Value>, names: &[&str]) -> impl Iterator<Item = &'a str> {
    members(body, names).into_iter().filter_map(Value::as_str)
}

/// Returns the number of members that are results: not empty, and not typical of errors. A response with results is no
/// error.
pub(crate) fn substance(body: &Map<String, Value>) -> usize {
    let is_rpc = body.contains_key("jsonrpc");
    let values = body.iter().filter(|(_, value)| !is_empty(value) && **value != Value::Bool(false));
    values.filter(|(name, value)| !comes_with_errors(name, value, is_rpc)).count()
}

fn comes_with_errors(name: &str, value: &Value, is_rpc: bool) -> bool {
    let folded = letters(name);
    is_companion(name)
        || is_code_name(name)
        || folded.starts_with("error") && !value.is_number()
        || BESIDE_ERRORS.contains(&folded)
        || is_rpc && folded == "id"
        || folded == "name" && value.as_str().is_some_and(|kind| kind.ends_with("Error") || kind.ends_with("Exception"))
}

/// Whether a value has no content.
pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Number(_) | Value::Bool(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_counted_and_what_comes_with_errors_is_not() {
        let count = |text: &str| substance(serde_json::from_str(text).as_ref().unwrap());
        assert_eq!(count(r#"{"error":"x","message":"y","requestId":"1","stack":["z"],"results":[]}"#), 0);
        assert_eq!(count(r#"{"error":"x","id":4,"name":"sync"}"#), 2);
        assert_eq!(count(r#"{"jsonrpc":"2.0","id":4,"error":{}}"#), 0);
    }
}
