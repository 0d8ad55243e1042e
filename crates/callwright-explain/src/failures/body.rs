//! Classifies JSON values as errors: by rules for objects, inside framework envelopes, or because all items are errors.

use serde_json::{Map, Value};

use super::body_words::{is_absent, member, members, substance};
use super::error_rules::RULES;
use super::text_rules::text_failure;
use super::verdict::{FailureEvidence, Finding};
use crate::word_list::WordList;
use callwright_common::text::letters;

/// Maximum number of nested envelopes that are opened; frameworks wrap twice, sometimes three times.
const MAX_ENVELOPES: usize = 4;

/// Members in which frameworks and tools wrap a tool's result.
const ENVELOPES: WordList =
    WordList("result results data response output content body text value toolresult tooloutput observation return");

/// Members that may accompany the content of an envelope (names folded): the tool, the call and the kind of the
/// content.
const ENVELOPE_COMPANIONS: WordList = WordList(
    "type role id name tool toolname callid toolcallid tooluseid iserror status statuscode success ok error \
     errors meta metadata headers statustext kind event",
);

/// Members in which batch responses list the responses of their items.
const BATCHES: &[&str] = &["results", "responses", "items", "operations", "answers"];

/// Members whose text describes the result.
const TEXT_MEMBERS: &[&str] = &["message", "msg", "detail", "details", "description", "reason", "info", "title"];

/// Finds an error in a value.
pub(crate) fn body_failure(value: &Value) -> Option<Finding> {
    value_failure(value, MAX_ENVELOPES)
}

fn value_failure(value: &Value, levels: usize) -> Option<Finding> {
    match value {
        Value::Object(body) if !body.is_empty() => object_failure(body, levels),
        Value::Array(items) if !items.is_empty() => array_failure(items, levels),
        Value::String(text) if levels > 0 => embedded_text_failure(text, levels - 1),
        _ => None,
    }
}

fn object_failure(body: &Map<String, Value>, levels: usize) -> Option<Finding> {
    matching_rule(body)
        .map(|rule| (rule, FailureEvidence::Form))
        .or_else(|| batch_failure(body))
        .or_else(|| envelope_failure(body, levels))
        .or_else(|| text_member_failure(body))
}

fn matching_rule(body: &Map<String, Value>) -> Option<&'static str> {
    RULES.iter().find(|(_, holds)| holds(body)).map(|(rule, _)| *rule)
}

/// Matches a batch of which every item failed. A partial success is not a failure.
fn batch_failure(body: &Map<String, Value>) -> Option<Finding> {
    let lists = members(body, BATCHES).into_iter().filter_map(Value::as_array);
    let mut full = lists.filter(|list| !list.is_empty());
    full.any(|list| list.iter().all(item_failed)).then_some(("all_items_failed", FailureEvidence::Form))
}

/// Whether an item is an error without the members that identify it, which a separate response would not have.
fn item_failed(item: &Value) -> bool {
    let Some(mut item) = item.as_object().cloned() else { return false };
    item.retain(|name, _| !matches!(name.as_str(), "id" | "index" | "key" | "row" | "position"));
    matching_rule(&item).is_some()
}

fn array_failure(items: &[Value], levels: usize) -> Option<Finding> {
    if let Some(text) = text_of_blocks(items) {
        return embedded_text_failure(&text, levels.checked_sub(1)?);
    }
    // An array inside an envelope is a result, whatever its items are.
    if levels < MAX_ENVELOPES {
        return None;
    }
    let all_failed = items.iter().all(|item| item.as_object().and_then(matching_rule).is_some());
    all_failed.then_some(("all_items_failed", FailureEvidence::Form))
}

/// Returns the text of content blocks: `[{"type":"text","text":"..."}]`.
fn text_of_blocks(items: &[Value]) -> Option<String> {
    let mut texts = Vec::with_capacity(items.len());
    for item in items {
        if item.get("type")?.as_str()? != "text" {
            return None;
        }
        texts.push(item.get("text")?.as_str()?);
    }
    Some(texts.join("\n"))
}

/// Classifies the content of an envelope without other members.
fn envelope_failure(body: &Map<String, Value>, levels: usize) -> Option<Finding> {
    let levels = levels.checked_sub(1)?;
    let mut contents = body.iter().filter(|(name, _)| !ENVELOPE_COMPANIONS.contains(&letters(name)));
    let ((name, content), next) = (contents.next()?, contents.next());
    (next.is_none() && ENVELOPES.contains(&letters(name))).then(|| value_failure(content, levels))?
}

/// Matches a body that contains only a sentence that describes a failure.
fn text_member_failure(body: &Map<String, Value>) -> Option<Finding> {
    let text = TEXT_MEMBERS.iter().find_map(|name| member(body, name)?.as_str()).filter(|text| !is_absent(text))?;
    (substance(body) == 0).then(|| text_failure(text)).flatten().map(|_| ("message_says_so", FailureEvidence::Words))
}

/// Classifies a text inside JSON: nested JSON or words.
fn embedded_text_failure(text: &str, levels: usize) -> Option<Finding> {
    match super::json_text::json(text) {
        Some(value) => value_failure(&value, levels),
        None => text_failure(text),
    }
}
