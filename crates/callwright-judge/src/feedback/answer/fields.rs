//! Header fields of a response that are shown to the model.

use super::super::quote::code;
use callwright_common::limits::TEXT_LENGTH;
use callwright_types::outcome::ApiAnswer;

/// Fields that name another resource or a time to wait. They are results of calls that create something or begin an
/// asynchronous operation, often the only ones.
const RESULTS: [&str; 5] =
    ["location", "content-location", "operation-location", "azure-asyncoperation", "retry-after"];

/// Fields that no next call can use.
const OMITTED: [&str; 2] = ["x-request-id", "www-authenticate"];

/// Prefixes of such fields.
const OMITTED_PREFIXES: [&str; 3] = ["ratelimit", "x-ratelimit", "x-rate-limit"];

/// Returns a note with the fields of a response that its content does not show; `None` if there are none. If there is
/// no content, as with `HEAD`, the fields are the whole result.
pub(super) fn note(answer: &ApiAnswer) -> Option<String> {
    let content = answer.text();
    let mut shown: Vec<String> = Vec::new();
    let mut room = TEXT_LENGTH;
    for (name, value) in answer.headers.iter().filter(|(name, value)| is_shown(answer, &content, name, value)) {
        let field = format!("{name}: {}", code(value));
        let Some(rest) = room.checked_sub(field.len()) else { break };
        room = rest;
        shown.push(field);
    }
    (!shown.is_empty()).then(|| format!("(header fields of the answer: {})", shown.join(", ")))
}

fn is_shown(answer: &ApiAnswer, content: &str, name: &str, value: &str) -> bool {
    if !content.trim().is_empty() {
        return RESULTS.contains(&name) && !content.contains(value);
    }
    // A media type without a length describes no content.
    (name != "content-type" || answer.header("content-length").is_some())
        && !OMITTED.contains(&name)
        && !OMITTED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(body: &str, fields: &[(&str, &str)]) -> ApiAnswer {
        let headers = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        ApiAnswer { headers, ..ApiAnswer::new(200, body.to_owned()) }
    }

    #[test]
    fn beside_content_only_results_that_it_lacks_are_shown() {
        let fields = [("content-type", "text/plain"), ("location", "/things/42"), ("etag", "x"), ("retry-after", "5")];
        assert_eq!(
            note(&answer("created", &fields)).unwrap(),
            "(header fields of the answer: location: `/things/42`, retry-after: `5`)"
        );
        assert_eq!(note(&answer(r#"{"self": "/things/42", "wait": 5}"#, &fields)), None);
    }

    #[test]
    fn without_content_the_fields_are_the_result() {
        let fields = [("content-type", "text/csv"), ("content-length", "7"), ("etag", "x"), ("x-request-id", "r")];
        assert_eq!(
            note(&answer("", &fields)).unwrap(),
            "(header fields of the answer: content-type: `text/csv`, content-length: `7`, etag: `x`)"
        );
        assert_eq!(note(&answer(" ", &[("content-type", "text/csv"), ("x-ratelimit-limit", "9")])), None);
    }

    #[test]
    fn fields_are_bounded() {
        let long = "x".repeat(1_000);
        let fields = [("a", long.as_str()), ("b", &long), ("c", &long), ("d", &long), ("e", &long)];
        assert!(note(&answer("", &fields)).unwrap().len() <= TEXT_LENGTH + 50);
    }
}
