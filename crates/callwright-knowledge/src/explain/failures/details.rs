//! Extracts status, code and reason from a recognised failure.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::body_words::{is_absent, is_code_name, member, scalar};
use crate::explain::word_list::WordList;
use callwright_common::text::beginning;

/// Maximum length of the reason in characters.
const MAX_REASON_CHARS: usize = 400;

/// Names of members with the reason (folded), the most specific first.
const REASONS: WordList =
    WordList("message msg errormessage errmsg errordescription detail faultstring description error title reason text");

/// HTTP status in a message.
static STATUS: LazyLock<Regex> = LazyLock::new(|| {
    // Not input: the pattern is a constant that the tests compile.
    Regex::new(r"(?:^|[^0-9.])([45][0-9]{2})(?:[^0-9.]|[.]?$)").expect("the expression of a status is valid")
});

/// Status, code and reason of a failure, as far as known.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FailureDetails {
    pub(crate) status: Option<u16>,
    pub(crate) code: Option<String>,
    pub(crate) reason: Option<String>,
}

/// Extracts the details from a JSON body, outermost first; the first value of each kind counts.
pub(crate) fn details_of_body(value: &Value) -> FailureDetails {
    let mut details = FailureDetails::default();
    read(value, &mut details);
    details
}

/// Extracts the details from a text.
pub(crate) fn details_of_text(text: &str, has_status: bool) -> FailureDetails {
    let mut line = text.lines().map(str::trim).filter(|line| !line.is_empty());
    // The last line of a traceback is the exception.
    let line = if text.contains("Traceback (most recent call last)") { line.next_back() } else { line.next() };
    let reason = shortened(line.unwrap_or_default());
    let status = STATUS.captures(&reason).filter(|_| has_status).and_then(|found| found.get(1)?.as_str().parse().ok());
    FailureDetails { status, code: None, reason: Some(reason).filter(|reason| !reason.is_empty()) }
}

/// Reads a value, whose depth the parser limits.
fn read(value: &Value, details: &mut FailureDetails) {
    match value {
        Value::Object(body) => {
            read_members(body, details);
            body.values().filter(|value| value.is_object() || value.is_array()).for_each(|value| read(value, details));
        }
        // The first item is taken as representative of the others.
        Value::Array(items) => items.iter().take(1).for_each(|item| read(item, details)),
        _ => {}
    }
}

fn read_members(body: &Map<String, Value>, details: &mut FailureDetails) {
    for (name, value) in body {
        let Some(text) = scalar(value).filter(|text| !is_absent(text)) else { continue };
        let is_status = is_code_name(name) || ["status", "httpStatus", "http_status"].contains(&name.as_str());
        match text.parse::<u16>() {
            Ok(status) if is_status && (400..600).contains(&status) => drop(details.status.get_or_insert(status)),
            _ if is_code_name(name) => drop(details.code.get_or_insert_with(|| shortened(&text))),
            _ => {}
        }
    }
    let mut reasons = REASONS.words().filter_map(|name| member(body, name)?.as_str());
    if let Some(text) = reasons.find(|text| !is_absent(text)) {
        details.reason.get_or_insert_with(|| shortened(text));
    }
}

fn shortened(text: &str) -> String {
    beginning(text, MAX_REASON_CHARS).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn status_code_and_reason_are_taken_from_a_body() {
        let details = details_of_body(&json!({"status": 422, "error": {"code": "E17", "message": "`from` is late"}}));
        assert_eq!(
            (details.status, details.code.as_deref(), details.reason.as_deref()),
            (Some(422), Some("E17"), Some("`from` is late"))
        );
        assert_eq!(details_of_body(&json!({"code": 0, "message": ""})), FailureDetails::default());
    }

    #[test]
    fn the_reason_of_a_text_is_its_first_line_and_of_a_traceback_its_last() {
        let details = details_of_text("\nError code: 404 - gone\nmore", true);
        assert_eq!((details.status, details.reason.as_deref()), (Some(404), Some("Error code: 404 - gone")));
        let details = details_of_text("Traceback (most recent call last):\n  File\nKeyError: 'a'\n", false);
        assert_eq!((details.status, details.reason.as_deref()), (None, Some("KeyError: 'a'")));
    }
}
