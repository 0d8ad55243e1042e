//! Method and path overrides: parts of a request by which some frameworks and proxies treat it as a different
//! request.
//!
//! Policy permits methods, and the document's paths are the tools. No argument may change either on the server's
//! side.

use http::Method;
use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::refusal::invalid;
use callwright_types::Refusal;

/// Header fields that override the method or the forwarded path (IIS, Symfony and similar).
const FIELDS: [&str; 5] =
    ["x-http-method", "x-http-method-override", "x-method-override", "x-original-url", "x-rewrite-url"];

/// Query or body parameter that overrides the method (Rails, Laravel, Symfony and similar).
const PARAMETER: &str = "_method";

/// Whether a header field with this name, in lower case, overrides the method or path.
pub(super) fn is_override(field: &str) -> bool {
    FIELDS.contains(&field)
}

/// Checks the encoded pairs of a query or form for a method override.
///
/// # Errors
/// Fails if a pair would change the method.
pub(super) fn check_pairs<'a>(method: &Method, pairs: impl IntoIterator<Item = &'a str>) -> Result<(), Refusal> {
    for pair in pairs {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if decoded(name) == PARAMETER && !decoded(value).eq_ignore_ascii_case(method.as_str()) {
            return Err(refusal(method));
        }
    }
    Ok(())
}

/// Checks the members of a body for a method override, regardless of its media type.
///
/// # Errors
/// Fails if a member would change the method.
pub(super) fn check_members(method: &Method, body: &Value) -> Result<(), Refusal> {
    match body.get(PARAMETER) {
        Some(value) if !value.as_str().is_some_and(|value| value.eq_ignore_ascii_case(method.as_str())) => {
            Err(refusal(method))
        }
        _ => Ok(()),
    }
}

fn decoded(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

fn refusal(method: &Method) -> Refusal {
    invalid(format!(
        "the value `{PARAMETER}` would change the method {method} that policy permits; no argument may set it"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_method_override_is_detected_in_every_encoding() {
        for pair in ["_method=DELETE", "%5Fmethod=delete", "_meth%6fd=%44ELETE", "_method", "_method="] {
            assert!(check_pairs(&Method::POST, ["a=1", pair]).is_err(), "{pair}");
        }
        for body in [json!({"_method": "DELETE"}), json!({"a": 1, "_method": ["PUT"]}), json!({"_method": null})] {
            assert!(check_members(&Method::POST, &body).is_err(), "{body}");
        }
    }

    #[test]
    fn the_same_method_and_other_names_are_accepted() {
        assert!(check_pairs(&Method::POST, ["_method=post", "method=DELETE", "a=_method=DELETE", ""]).is_ok());
        for body in [json!({"_method": "post"}), json!({"method": "DELETE"}), json!({"a": {"_method": "x"}}), json!(1)]
        {
            assert!(check_members(&Method::POST, &body).is_ok(), "{body}");
        }
    }
}
