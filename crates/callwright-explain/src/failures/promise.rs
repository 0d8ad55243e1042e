//! Compares a response with what the document promises. Only clearly missing content fails: no content, an empty object
//! or array that the schema forbids, or an HTML page or malformed text instead of JSON. Other deviations from the
//! schema are accepted.

use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use callwright_common::html::is_page;
use callwright_common::text::letters;
use callwright_types::outcome::ApiAnswer;
use callwright_types::promise::{Promise, PromisedShape, PromisedValue, Shortfall};

/// Name of the rule, and a description of the content received.
type PromiseDeviation = (&'static str, &'static str);

/// Returns how the response falls short of the promise for its status.
pub(crate) fn shortfall(answer: &ApiAnswer, promises: &[Promise]) -> Option<Shortfall> {
    // A truncated or paginated response is incomplete.
    if answer.truncated || !answer.paging.later.is_empty() {
        return None;
    }
    let promise = promises.iter().find(|promise| promise.statuses.contains(&answer.status))?;
    let (rule, came) = deviation(answer, promise)?;
    Some(Shortfall { rule, came, promised: promise.told() })
}

fn deviation(answer: &ApiAnswer, promise: &Promise) -> Option<PromiseDeviation> {
    let body = answer.body.trim_ascii();
    let value = promise.value.as_ref();
    if body.is_empty() {
        return (promise.only_json && value.is_some_and(needs_content)).then_some(("empty_result", "no content"));
    }
    if promise.only_json && body.first() == Some(&b'<') && is_page(body) {
        return Some(("page_for_json", "a page of HTML instead of JSON"));
    }
    match serde_json::from_slice::<Value>(body) {
        Ok(body) => missing(&body, value?).map(|came| ("empty_result", came)),
        Err(_) => {
            let is_broken =
                promise.only_json && has_json_media_type(answer) && value?.demands_content() && is_no_json(body);
            is_broken.then_some(("broken_json", "something that is not JSON"))
        }
    }
}

fn needs_content(value: &PromisedValue) -> bool {
    !value.nullable && (value.demands_content() || matches!(value.shape, PromisedShape::Array { .. }))
}

fn has_json_media_type(answer: &ApiAnswer) -> bool {
    let essence = answer.header("content-type").and_then(|kind| kind.split(';').next()).unwrap_or_default();
    let essence = essence.trim().to_ascii_lowercase();
    essence == "application/json" || essence == "text/json" || essence.ends_with("+json")
}

/// Whether the body is neither JSON, nor a sequence of JSON texts, nor JSON that only strict parsers reject (`NaN`, a
/// prefix against script inclusion).
fn is_no_json(body: &[u8]) -> bool {
    let first = serde_json::Deserializer::from_slice(body).into_iter::<IgnoredAny>().next();
    let begins_as_json = matches!(body.first(), Some(b'{' | b'[' | b')'));
    matches!(first, Some(Err(error)) if error.is_eof() || !begins_as_json)
}

/// Describes the empty value received in place of promised content.
fn missing(value: &Value, promised: &PromisedValue) -> Option<&'static str> {
    if !promised.demands_content() {
        return None;
    }
    match (value, &promised.shape) {
        (Value::Null, _) => (!promised.nullable).then_some("`null`"),
        (Value::Array(items), PromisedShape::Array { least }) => match items.len() {
            0 => Some("an empty list"),
            length => u64::try_from(length).is_ok_and(|length| length < *least).then_some("too short a list"),
        },
        (Value::Array(items), PromisedShape::Object { .. }) => items.is_empty().then_some("an empty list"),
        (Value::Object(members), PromisedShape::Array { .. }) => members.is_empty().then_some("an empty object"),
        (Value::Object(members), PromisedShape::Object { required, least, wrapped }) => {
            let wrapped = wrapped.as_ref().map(|(name, held)| (name.as_str(), held.as_ref()));
            missing_members(members, (required, *least), wrapped)
        }
        _ => None,
    }
}

fn missing_members(
    members: &Map<String, Value>,
    (required, least): (&[String], u64),
    wrapped: Option<(&str, &PromisedValue)>,
) -> Option<&'static str> {
    if members.is_empty() {
        return Some("an empty object");
    }
    if u64::try_from(members.len()).is_ok_and(|count| count < least) {
        return Some("too few members");
    }
    if !required.is_empty() && !has_any(members, required) {
        return Some("an object that has none of the promised members");
    }
    let (name, held) = wrapped?;
    missing(members.get(name)?, held).map(|_| "nothing in the member that holds the result")
}

/// Whether any of the members is present, here or one level below because APIs may wrap the documented object. Ignores
/// case and separators.
fn has_any(members: &Map<String, Value>, required: &[String]) -> bool {
    let required: Vec<String> = required.iter().map(|name| letters(name)).collect();
    contains_any(members, &required)
        || members.values().any(|value| match value {
            Value::Object(inner) => contains_any(inner, &required),
            Value::Array(items) => {
                items.first().and_then(Value::as_object).is_some_and(|inner| contains_any(inner, &required))
            }
            _ => false,
        })
}

/// Whether the object itself has a member with one of these folded names.
fn contains_any(members: &Map<String, Value>, folded: &[String]) -> bool {
    members.keys().any(|name| folded.contains(&letters(name)))
}

#[cfg(test)]
mod tests;
