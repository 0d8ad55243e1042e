//! Texts of responses: descriptions, and for errors also their schemas and examples.

use serde_json::Value;

use super::collector::DocTextCollector;
use super::schema::PropertySelection;
use super::{extension, schema};
use crate::document::{LocatedValue, Version};
use crate::tool::text::shorten;

/// Maximum length of an error example, in characters. Real error responses have a few lines.
const MAX_EXAMPLE_CHARS: usize = 600;

pub(super) fn responses(texts: &mut DocTextCollector, operation: &LocatedValue<'_>) {
    for (status, response) in operation.members_of("responses") {
        let Ok(response) = response.follow() else { continue };
        texts.member(&response, "description", status);
        extension::error_lists(texts, &response);
        if operation.document.version == Version::V2_0 {
            swagger_response(texts, status, &response);
        }
        for (_, media) in response.members_of("content") {
            describe_content(texts, status, &media);
            named_examples(texts, status, &media);
        }
    }
}

/// Adds the texts of `response` other than its description. Schema and examples are members of the response itself
/// (Swagger 2.0, Response Object).
fn swagger_response(texts: &mut DocTextCollector, status: &str, response: &LocatedValue<'_>) {
    describe_content(texts, status, response);
    if !is_error(status) {
        return;
    }
    for (_, example) in response.members_of("examples") {
        show_example(texts, status, &example);
    }
}

/// Adds the texts of `media` (a Media Type Object, in Swagger 2.0 the Response Object itself) for responses with
/// `status`.
fn describe_content(texts: &mut DocTextCollector, status: &str, media: &LocatedValue<'_>) {
    let schema = media.member("schema");
    if !is_error(status) {
        // Some APIs respond with status 200 and report errors in the body.
        schema.iter().for_each(|schema| schema::describe(texts, schema, "", PropertySelection::Errors));
        return;
    }
    schema.iter().for_each(|schema| schema::describe(texts, schema, "", PropertySelection::Answer));
    let own = schema.as_ref().and_then(|schema| schema.follow().ok());
    for holder in [Some(media), own.as_ref()].into_iter().flatten() {
        holder.member("example").iter().for_each(|example| show_example(texts, status, example));
    }
}

fn named_examples(texts: &mut DocTextCollector, status: &str, media: &LocatedValue<'_>) {
    if !is_error(status) {
        return;
    }
    for (name, example) in media.members_of("examples") {
        let Ok(example) = example.follow() else { continue };
        texts.member(&example, "summary", name);
        texts.member(&example, "description", name);
        example.member("value").iter().for_each(|value| show_example(texts, status, value));
    }
}

/// Adds an example of a response with `status`.
fn show_example(texts: &mut DocTextCollector, status: &str, example: &LocatedValue<'_>) {
    let text = match example.value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    texts.push(&format!("{status}, for example"), &shorten(&text, MAX_EXAMPLE_CHARS), &example.at);
}

/// Whether the status is an error: all except 1xx, 2xx and 3xx. `default` usually describes errors in general.
pub(crate) fn is_error(status: &str) -> bool {
    !status.starts_with(['1', '2', '3'])
}
