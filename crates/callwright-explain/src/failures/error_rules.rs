//! Rules, as data, for bodies of responses below status 400 that are evidently errors.
//!
//! The rules are conservative: merely suspicious bodies are decided by the documentation. `cases/rules.json` has bodies
//! that each rule recognises, and look-alikes that no rule may recognise.

use serde_json::{Map, Value};

use super::body_words::{
    has_reason, is_absent, is_code_name, is_error_code, is_error_code_name, member, members, scalar, states_reason,
    substance, texts,
};

/// Name of a rule in traces, and whether a non-empty JSON object is an error by it.
pub(crate) type ErrorRule = (&'static str, fn(&Map<String, Value>) -> bool);

/// Rules in order of evaluation.
pub(crate) const RULES: &[ErrorRule] = &[
    ("error_object", |body| {
        let errors = members(
            body,
            &["error", "fault", "exception", "err", "problem", "odataerror", "errorresponse", "errordetails"],
        );
        let has_error = errors.into_iter().any(|error| error.as_object().is_some_and(|error| !error.is_empty()));
        has_error && substance(body) <= 1
    }),
    ("error_text", |body| {
        texts(body, &["error", "exception", "fault"]).any(|error| !is_absent(error))
            && substance(body) == 0
            && !succeeded(body)
    }),
    ("error_flag", |body| {
        let flags = members(body, &["error", "iserror", "haserror", "failed"]);
        flags.contains(&&Value::Bool(true)) && (has_reason(body) || substance(body) == 0)
    }),
    ("graphql_errors", |body| {
        // If data is present, the errors report only a missing part (GraphQL, section 7.1.2).
        let errors = body.get("errors").and_then(Value::as_array);
        body.get("data").is_some_and(is_nothing)
            && errors.is_some_and(|errors| !errors.is_empty() && errors.iter().all(has_message))
    }),
    ("error_list", |body| {
        let mut lists = members(body, &["errors", "errormessages", "faults", "error"]).into_iter();
        lists.any(is_error_collection)
            && substance(body) == 0
            && !succeeded(body)
            && body.get("data").is_none_or(is_nothing)
    }),
    ("not_successful", |body| {
        members(body, SUCCESS_FLAGS).contains(&&Value::Bool(false))
            && (has_reason(body) && substance(body) <= 1 || substance(body) == 0)
    }),
    ("status_word", |body| {
        let mut statuses = texts(body, &["status", "result", "outcome", "stat"]);
        statuses.any(|status| matches!(&*status.to_ascii_lowercase(), "error" | "fail" | "failed" | "failure"))
            && substance(body) == 0
            && body.len() > 1
    }),
    ("status_zero", |body| {
        let zero = body.get("status").and_then(scalar).is_some_and(|status| status == "0" || status == "false");
        zero && substance(body) == 0
            && body.iter().any(|(name, value)| is_code_name(name) && is_error_code(value) && name != "status")
    }),
    ("error_code", |body| {
        body.iter().any(|(name, value)| is_error_code_name(name) && is_error_code(value))
            && (states_reason(body) && substance(body) <= 1 || substance(body) == 0)
    }),
    ("error_message", |body| {
        let names = &["errormessage", "errmsg", "errormsg", "errordescription", "faultstring", "exceptionmessage"];
        texts(body, names).any(|text| !is_absent(text))
            && substance(body) <= 1
            && !body.iter().any(|(name, value)| is_error_code_name(name) && !is_error_code(value))
    }),
    ("exception_type", |body| {
        let mut kinds = texts(body, &["type", "errortype", "exception", "name", "exceptiontype", "typekey"]);
        kinds.any(is_exception_name) && states_reason(body) && substance(body) <= 1
    }),
    ("status_member", |body| {
        let named = members(body, &["status", "statuscode", "httpstatus", "httpstatuscode", "httpcode"]);
        // A single code may have any meaning.
        let coded = if body.len() > 1 { members(body, &["code", "errorcode"]) } else { Vec::new() };
        named.into_iter().chain(coded).any(is_failed_status) && substance(body) == 0
    }),
    ("problem_details", |body| {
        body.get("status").and_then(Value::as_u64).is_some_and(|status| (400..600).contains(&status))
            && body.get("title").is_some_and(Value::is_string)
            && (body.contains_key("type") || body.contains_key("detail"))
    }),
    ("detail_list", |body| {
        let entries = member(body, "detail").and_then(Value::as_array);
        entries.is_some_and(|list| {
            !list.is_empty()
                && list.iter().all(|entry| entry.get("msg").is_some() && entry.get("loc").is_some())
                && substance(body) == 0
        })
    }),
];

/// Members that state whether a request succeeded (names folded).
const SUCCESS_FLAGS: &[&str] = &["success", "ok", "succeeded", "issuccess", "successful", "issuccessful"];

/// Whether there are no data: `null`, an empty array, or an object whose members are all null.
fn is_nothing(data: &Value) -> bool {
    match data {
        Value::Object(data) => data.values().all(Value::is_null),
        Value::Array(items) => items.is_empty(),
        data => data.is_null(),
    }
}

fn succeeded(body: &Map<String, Value>) -> bool {
    members(body, SUCCESS_FLAGS).contains(&&Value::Bool(true))
}

/// Whether the value is a non-empty list of errors, or a non-empty object of errors by field.
fn is_error_collection(errors: &Value) -> bool {
    match errors {
        Value::Array(list) => !list.is_empty() && list.iter().all(|entry| entry.is_object() || entry.is_string()),
        Value::Object(named) => {
            !named.is_empty() && named.values().all(|entry| entry.is_array() || entry.is_object() || entry.is_string())
        }
        _ => false,
    }
}

fn has_message(entry: &Value) -> bool {
    entry.get("message").is_some_and(Value::is_string)
}

fn is_failed_status(value: &Value) -> bool {
    scalar(value).and_then(|status| status.parse::<u16>().ok()).is_some_and(|status| (400..600).contains(&status))
}

/// Whether the text is the name of an exception class: `KeyError`, `a.b#ThrottlingException`.
fn is_exception_name(text: &str) -> bool {
    let last = text.rsplit(['.', '#', ':', '/']).next().unwrap_or_default();
    let one_word = !last.is_empty() && last.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    one_word && ["Error", "Exception", "Fault"].iter().any(|ending| last.ends_with(ending))
}
