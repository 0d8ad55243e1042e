//! Distinguishes results in a body from members that only accompany an error.

use crate::explain::word_list::WordList;
use serde_json::{Map, Value};

use super::body_words::{is_code_name, is_companion};
use callwright_common::text::letters;

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

/// Returns the number of members that are results: not empty, and not typical of errors. A response with results is no
/// error.
pub(crate) fn substance(body: &Map<String, Value>) -> usize {
    let is_rpc = body.contains_key("jsonrpc");
    body.iter().filter(|(name, value)| !is_empty(value) && !comes_with_errors(name, value, is_rpc)).count()
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

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Number(_) | Value::Bool(true) => false,
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
