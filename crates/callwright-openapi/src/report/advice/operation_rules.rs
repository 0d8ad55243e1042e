//! Rules for the texts of one operation.

use http::StatusCode;

use super::document_rules::text_of;
use super::rule::{AdviceSubject, Findings, OperationCase};
use crate::LocatedValue;
use crate::documentation::is_error;
use crate::tool::description::tool_description;
use callwright_common::text::name_words;

/// `missing-operation-id`. A name derived from the path describes the structure of the API and not the purpose of the
/// tool.
pub(super) fn missing_operation_id(_: &AdviceSubject<'_>, case: &OperationCase<'_>, findings: &mut Findings) {
    if case.operation.operation_id.is_none() {
        let message = format!("the tool is called `{}`", case.operation.own_name());
        findings.add(&case.label, &case.source.operation.at, message);
    }
}

/// `missing-description`. A description that repeats the words of the name counts as missing.
pub(super) fn missing_description(_: &AdviceSubject<'_>, case: &OperationCase<'_>, findings: &mut Findings) {
    let (operation, own_name) = (&case.source.operation, case.operation.own_name());
    let texts: Vec<&str> = ["summary", "description"].into_iter().filter_map(|key| operation.text(key)).collect();
    let name = name_words(case.operation.operation_id.as_deref().unwrap_or(own_name));
    let message = if texts.is_empty() {
        format!("`{own_name}` has no description; a model reads only `{}`", case.label)
    } else if texts.iter().all(|text| name_words(text) == name) {
        format!("the description of `{own_name}` only repeats its name")
    } else {
        return;
    };
    findings.add(&case.label, &operation.at, message);
}

/// `cut-description`. Reports descriptions that exceed the limit for a tool's description.
pub(super) fn cut_description(subject: &AdviceSubject<'_>, case: &OperationCase<'_>, findings: &mut Findings) {
    let operation = &case.source.operation;
    let limit = subject.limits.description_chars;
    let chars = tool_description(operation, &case.label, usize::MAX).chars().count();
    if chars > limit {
        let message = format!("the description has {chars} characters, of which a model reads the first {limit}");
        findings.add(&case.label, &text_of(operation), message);
    }
}

/// `undocumented-errors`. A failed call is explained from the document if the API's own message is insufficient.
/// Without documented errors, that explanation is empty.
pub(super) fn undocumented_errors(_: &AdviceSubject<'_>, case: &OperationCase<'_>, findings: &mut Findings) {
    let operation = &case.source.operation;
    let responses = operation.member("responses");
    let mut named = Vec::new();
    for (status, response) in responses.iter().flat_map(LocatedValue::members) {
        if !is_error(status) || status.starts_with("x-") {
            continue;
        }
        let Ok(response) = response.follow() else { continue };
        if is_explained(status, &response) {
            return;
        }
        named.push(status.as_str());
    }
    let message = if named.is_empty() {
        "no error response is documented".to_owned()
    } else {
        format!("the error responses {} have no explanation", named.join(", "))
    };
    let at = responses.map_or_else(|| operation.at.clone(), |responses| responses.at);
    findings.add(&case.label, &at, message);
}

/// Whether the response has details or a description other than the status code's reason phrase.
fn is_explained(status: &str, response: &LocatedValue<'_>) -> bool {
    let has_details = ["schema", "examples", "content"].iter().any(|key| response.member(key).is_some());
    has_details || response.text("description").is_some_and(|text| !is_phrase(text, status))
}

fn is_phrase(text: &str, status: &str) -> bool {
    let phrase = StatusCode::from_bytes(status.as_bytes()).ok().and_then(|status| status.canonical_reason());
    ["error", "default"].contains(&text.to_ascii_lowercase().as_str())
        || phrase.is_some_and(|phrase| name_words(phrase) == name_words(text))
}
