//! Recognises errors in XML and HTML: SOAP faults, error root elements and error pages.

use std::sync::LazyLock;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use regex::Regex;

use super::body_words::reason_of;
use super::verdict::{FailureEvidence, Finding};
use crate::word_list::WordList;
use callwright_common::html::{is_page, title};
use callwright_common::limits::SHORT_BODY_BYTES;
use callwright_common::text::beginning_bytes;

/// Root elements that only errors have (names without prefix, in lower case).
const ERROR_ROOTS: WordList = WordList(
    "error errors fault exception errorresponse exceptionreport serviceexceptionreport apierror problem \
     errormessage errordetails errorinfo errorresult",
);

/// Phrases in titles of error pages that servers return.
static TITLE_PHRASES: LazyLock<Regex> = LazyLock::new(|| {
    // Not input: the pattern is a constant that the tests compile.
    Regex::new(
        "(?:page )?not found|access denied|(?:service|temporarily) unavailable|bad gateway|gateway timeout|forbidden|\
         unauthorized|bad request|(?:internal )?server error|attention required! \\| cloudflare|just a moment\\.{3}|\
         request rejected|site maintenance|application error|too many requests|error",
    )
    .expect("the expression of titles is valid")
});

/// Returns the rule that recognises an error in a marked-up text.
pub(crate) fn markup_failure(text: &str) -> Option<Finding> {
    let text = beginning_bytes(text, SHORT_BODY_BYTES);
    if is_page(text.as_bytes()) {
        let title = title(text).map(|title| title.to_lowercase());
        return title.filter(|title| is_error_title(title)).map(|_| ("error_page", FailureEvidence::Form));
    }
    xml_failure(text).map(|rule| (rule, FailureEvidence::Form))
}

fn xml_failure(text: &str) -> Option<&'static str> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = false;
    reader.config_mut().expand_empty_elements = true;
    let mut path: Vec<String> = Vec::new();
    loop {
        match reader.read_event().ok()? {
            Event::Start(tag) => {
                path.push(tag.local_name().as_ref().to_lowercase());
                if let Some(rule) = error_element(&path, &tag) {
                    return Some(rule);
                }
            }
            Event::End(_) => drop(path.pop()),
            Event::Eof => return None,
            _ => {}
        }
    }
}

/// Returns the rule for an element that has just started, by its path from the root.
fn error_element(path: &[String], tag: &BytesStart<'_>) -> Option<&'static str> {
    // No rule is about deeper elements.
    let names: Vec<&str> = path.iter().take(4).map(String::as_str).collect();
    match names.as_slice() {
        [root] if ERROR_ROOTS.contains(root) => Some("xml_error"),
        ["rsp" | "response" | "result"] if states_failure(tag) => Some("xml_error"),
        ["envelope", "body", "fault"] => Some("soap_fault"),
        ["response" | "result" | "rsp", "error" | "fault" | "errors"] => Some("xml_error"),
        _ => None,
    }
}

fn states_failure(tag: &BytesStart<'_>) -> bool {
    let fails =
        |value: &str| ["fail", "failed", "error", "failure"].iter().any(|word| value.eq_ignore_ascii_case(word));
    tag.attributes()
        .flatten()
        .any(|attribute| ["stat", "status"].contains(&attribute.key.local_name().as_ref()) && fails(&attribute.value))
}

fn is_error_title(title: &str) -> bool {
    let status =
        title.split(|letter: char| !letter.is_ascii_digit()).next().and_then(|number| number.parse::<u16>().ok());
    let begins_with_status = status.is_some_and(|status| (400..600).contains(&status)) && title.len() > 3;
    let phrase = TITLE_PHRASES.find(title);
    let is_named = phrase.is_some_and(|phrase| {
        let rest = &title[phrase.end()..];
        phrase.start() == 0 && (rest.is_empty() || rest.starts_with([' ', ':']))
    });
    begins_with_status && (phrase.is_some() || repeats_reason(title, status))
        || is_named
        || title.starts_with("http status ")
        || title.starts_with("http error ")
}

/// Whether the title contains the status and its reason phrase: "409 conflict".
fn repeats_reason(title: &str, status: Option<u16>) -> bool {
    status.and_then(reason_of).is_some_and(|reason| title.contains(&reason.to_lowercase()))
}
