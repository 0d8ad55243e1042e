//! Vocabulary of error bodies: member names, and values that mean "no error".

use crate::explain::word_list::WordList;
use callwright_common::json::scalar_text;
use callwright_common::text::letters;
use serde_json::{Map, Value};

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
