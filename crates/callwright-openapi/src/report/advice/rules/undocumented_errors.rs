//! `undocumented-errors`: operations whose error responses are not explained.

use http::StatusCode;

use super::super::rule::{AdviceSubject, Findings, OperationCase, Rule, RuleCheck};
use crate::document::LocatedValue;
use crate::documentation::is_error;
use callwright_common::text::name_words;

/// Members of a Response Object that carry more than its description (Swagger 2.0, OpenAPI 3).
const DETAILS: [&str; 3] = ["schema", "examples", "content"];

pub(crate) const RULE: Rule = Rule {
    code: "undocumented-errors",
    about: "error responses are not documented",
    fix: "describe under `responses` what causes each `4xx` and how to fix it",
    check: RuleCheck::Operation(check),
};

/// A failed call is explained from the document if the API's own message is insufficient. Without documented errors,
/// that explanation is empty.
fn check(subject: &AdviceSubject<'_>, case: &OperationCase<'_>, findings: &mut Findings) {
    let operation = &case.source.operation;
    let responses = operation.member("responses");
    let mut named = Vec::new();
    for (status, response) in responses.iter().flat_map(LocatedValue::members) {
        if !is_error(status) || status.starts_with("x-") {
            continue;
        }
        let Ok(response) = subject.document.follow(response) else { continue };
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
    let has_details = DETAILS.iter().any(|key| response.member(key).is_some());
    has_details || response.text("description").is_some_and(|text| !is_phrase(text, status))
}

fn is_phrase(text: &str, status: &str) -> bool {
    let phrase = StatusCode::from_bytes(status.as_bytes()).ok().and_then(|status| status.canonical_reason());
    ["error", "default"].contains(&text.to_ascii_lowercase().as_str())
        || phrase.is_some_and(|phrase| name_words(phrase) == name_words(text))
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::advice_on_operation;
    use serde_json::{Value, json};

    fn messages_for(responses: Value) -> Vec<String> {
        let found = advice_on_operation("undocumented-errors", json!({"responses": responses}));
        found.into_iter().map(|advice| advice.message).collect()
    }

    #[test]
    fn missing_and_merely_named_errors_are_reported() {
        let none = messages_for(json!({"200": {"description": "ok"}, "x-note": {}}));
        assert!(none[0].starts_with("no error response is documented"), "{none:?}");
        let named = messages_for(
            json!({"400": {"description": "Bad Request."}, "404": {"description": "not found"}, "default": {}}),
        );
        assert!(named[0].starts_with("the error responses 400, 404, default have no explanation"), "{named:?}");
        let found = advice_on_operation("undocumented-errors", json!({}));
        assert_eq!(found[0].at, "api.json #/paths/~1x~1{id}/post", "without responses, the operation's position");
    }

    #[test]
    fn one_explained_error_is_enough() {
        assert!(messages_for(json!({"404": {"description": "No such order; ask for the list first."}})).is_empty());
        assert!(
            messages_for(json!({"default": {"description": "Error", "content": {"application/json": {}}}})).is_empty()
        );
        assert!(messages_for(json!({"4XX": {"description": "See `code`."}})).is_empty());
    }
}
