//! Texts of responses: descriptions, and for errors also their schemas and examples; and extensions (`x-*`) that list
//! errors. No standard defines them, so any extension whose key suggests errors is read, in any form.

use serde_json::Value;

use super::schema;
use super::schema::{DocTextCollector, MAX_LEVELS, PropertySelection};
use crate::tool::text::shorten;
use crate::{LocatedValue, Version};

/// Maximum length of an error example, in characters. Real error responses have a few lines.
const MAX_EXAMPLE_CHARS: usize = 600;

pub(super) fn responses(texts: &mut DocTextCollector, operation: &LocatedValue<'_>) {
    for (status, response) in operation.members_of("responses") {
        let Ok(response) = response.follow() else { continue };
        texts.member(&response, "description", status);
        error_lists(texts, &response);
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

/// Words in an extension's key that indicate a list of errors.
const ERROR_WORDS: [&str; 4] = ["error", "fault", "exception", "failure"];
/// Adds the entries of all error-listing extensions of `holder`, one text each.
pub(super) fn error_lists(texts: &mut DocTextCollector, holder: &LocatedValue<'_>) {
    for (key, value) in holder.members() {
        let lower = key.to_ascii_lowercase();
        if lower.starts_with("x-") && lists_errors(&lower) {
            entries(texts, "", &value, MAX_LEVELS);
        }
    }
}

/// Whether the lower-case key suggests a list of errors or codes. Excludes `x-codeSamples` and similar keys.
fn lists_errors(key: &str) -> bool {
    ERROR_WORDS.iter().any(|word| key.contains(word)) || key.contains("codes") && !key.contains("sample")
}

fn entries(texts: &mut DocTextCollector, label: &str, entry: &LocatedValue<'_>, levels: usize) {
    if let Some(line) = line(entry.value) {
        return texts.push(label, &line, &entry.at);
    }
    let Some(levels) = levels.checked_sub(1) else { return };
    for item in entry.items() {
        entries(texts, label, &item, levels);
    }
    for (key, member) in entry.members() {
        entries(texts, key, &member, levels);
    }
}

/// Formats a scalar, or an object of scalars, as one line: `{code: 7, message: gone}` becomes `` `7`: gone ``.
fn line(value: &Value) -> Option<String> {
    let Value::Object(members) = value else { return scalar(value) };
    let code =
        members.iter().find(|(key, value)| is_code(key) && scalar(value).is_some_and(|text| !text.contains(' ')));
    let others = members.iter().filter(|(key, _)| code.is_none_or(|(code, _)| code != *key));
    let parts: Option<Vec<String>> = others.map(|(key, value)| Some(part(key, &scalar(value)?))).collect();
    let code = code.and_then(|(_, value)| scalar(value)).map(|code| format!("`{code}`: ")).unwrap_or_default();
    parts.map(|parts| code + &parts.join(", "))
}

/// Formats a member. The names of descriptive members are omitted.
fn part(key: &str, value: &str) -> String {
    let is_descriptive =
        matches!(key, "message" | "description" | "meaning" | "title" | "reason" | "detail" | "summary");
    if is_descriptive { value.to_owned() } else { format!("{key}: {value}") }
}

fn is_code(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key.ends_with("code") && !key.contains("status") && !key.contains("http") || key == "id" || key == "key"
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}
