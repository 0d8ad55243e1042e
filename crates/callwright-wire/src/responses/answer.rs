//! Complete answers.

use std::borrow::Cow;

use serde_json::json;
use serde_json::value::RawValue;

use super::item::{CALLER, ItemKind, call_of, new_id, reasoning_part};
use crate::chat_answer::now;
use crate::chat_message::{object_at, set_string};
use crate::content::part_text;
use crate::fields::{ObjectFields, object, present, string};
use crate::parts::{AnswerForm, Finish, MessageContent, PartKind, PartsForm};
use crate::usage::{CountNames, read_usage, with_usage};
use crate::{AnswerError, ReasoningPart};
use callwright_common::json::{RawObject, raw};
use callwright_types::{Call, Protocol, Usage};

/// Names of the counts in `usage`.
const COUNTS: CountNames = ["input_tokens", "output_tokens"];

/// Answers of this protocol.
#[derive(Debug)]
pub(crate) struct ResponsesAnswer;

impl AnswerForm for ResponsesAnswer {
    fn protocol(&self) -> Protocol {
        Protocol::Responses
    }

    fn as_parts(&'static self) -> Option<&'static dyn PartsForm> {
        Some(self)
    }

    fn minted(&self, model: &str) -> RawObject {
        let members = json!({
            "id": new_id("resp"), "object": "response", "created_at": now(), "status": "completed", "error": null,
            "incomplete_details": null, "instructions": null, "metadata": {}, "model": model, "output": [],
            "parallel_tool_calls": true, "temperature": null, "tool_choice": "auto", "tools": [], "top_p": null,
            "usage": null,
        });
        object_at(Some(&raw(&members)))
    }

    fn finish_reason(&self, fields: &RawObject) -> Option<String> {
        let status = fields.get("status").and_then(string)?;
        if status != INCOMPLETE {
            return Some(status.into_owned());
        }
        let details = present(fields.get("incomplete_details")).and_then(|value| ObjectFields::parse(value.get()));
        let reason = details.and_then(|details| details.string("reason").map(Cow::into_owned));
        Some(reason.unwrap_or_else(|| INCOMPLETE.to_owned()))
    }

    /// Any reason is that of an incomplete response unless it is another `status`.
    fn is_cut_off(&self, reason: &str) -> bool {
        !matches!(reason, "completed" | "in_progress" | "queued")
    }

    fn usage(&self, fields: &RawObject) -> Option<Usage> {
        read_usage(fields.get("usage"), COUNTS)
    }

    fn set_usage(&self, fields: &mut RawObject, usage: Usage) {
        let new = object([
            ("input_tokens_details", object([("cached_tokens", raw(&usage.cached_tokens))]).to_raw()),
            ("output_tokens_details", object([("reasoning_tokens", raw(&0))]).to_raw()),
        ]);
        let known = present(fields.get("usage")).map_or_else(|| new.to_raw(), ToOwned::to_owned);
        fields.set("usage", with_usage(Some(&known), usage, COUNTS));
    }

    fn contradicts_calls(&self, _message: &dyn MessageContent, _reason: Option<&str>) -> bool {
        false
    }
}

impl PartsForm for ResponsesAnswer {
    fn parts_key(&self) -> &'static str {
        "output"
    }

    fn read_part(&self, part: &RawValue) -> PartKind {
        let Some(item) = ObjectFields::parse(part.get()) else { return PartKind::Other };
        let kind = ItemKind::new(&item);
        match kind {
            ItemKind::FunctionCall => {
                let call = call_of(&item, kind);
                let has_text = item.get("arguments").is_some_and(|arguments| arguments.get().starts_with('"'));
                let is_well_formed = has_text && !call.id.is_empty() && !call.name.is_empty();
                PartKind::Call { call, is_well_formed }
            }
            ItemKind::CustomToolCall | ItemKind::ClientCall => PartKind::Unjudged(call_of(&item, kind)),
            ItemKind::Message => read_message(&item),
            ItemKind::Reasoning => PartKind::Reasoning(reasoning_text(&item)),
            ItemKind::CallOutput | ItemKind::Other => PartKind::Other,
        }
    }

    fn reasoning_part(&self, part: &RawValue) -> Option<ReasoningPart> {
        reasoning_part(part)
    }

    fn namespace(&self, part: &RawValue) -> Option<String> {
        let namespace = ObjectFields::parse(part.get())?.string(NAMESPACE).map(Cow::into_owned);
        namespace.filter(|namespace| !namespace.is_empty())
    }

    fn members_of_divided(&self) -> &'static [&'static str] {
        &[NAMESPACE, CALLER]
    }

    fn with_call(&self, part: Option<&RawValue>, call: &Call) -> Box<RawValue> {
        let mut item = match part {
            Some(part) => object_at(Some(part)),
            None => object([("type", raw(FUNCTION_CALL)), ("id", raw(&new_id("fc"))), ("status", raw("completed"))]),
        };
        if item.get("type").and_then(string).as_deref() == Some(CUSTOM_TOOL_CALL) {
            change_type(&mut item, FUNCTION_CALL, "fc");
            item.remove("input");
        }
        set_string(&mut item, "call_id", &call.id);
        set_string(&mut item, "name", &call.name);
        set_string(&mut item, "arguments", &call.arguments);
        item.to_raw()
    }

    fn custom_call(&self, part: &RawValue) -> Option<Call> {
        let item = ObjectFields::parse(part.get())?;
        let kind = ItemKind::new(&item);
        (kind == ItemKind::CustomToolCall).then(|| call_of(&item, kind))
    }

    fn with_custom_call(&self, part: &RawValue, input: &str) -> Option<Box<RawValue>> {
        let mut item = object_at(Some(part));
        change_type(&mut item, CUSTOM_TOOL_CALL, "ctc");
        item.remove("arguments");
        item.set("input", raw(input));
        Some(item.to_raw())
    }

    fn with_text(&self, part: Option<&RawValue>, text: &str) -> Box<RawValue> {
        let Some(part) = part else {
            let message = object([
                ("type", raw("message")),
                ("id", raw(&new_id("msg"))),
                ("status", raw("completed")),
                ("role", raw("assistant")),
                ("content", raw(&[text_part(text)])),
            ]);
            return message.to_raw();
        };
        let mut item = object_at(Some(part));
        let content = item.get("content").filter(|content| !content.get().starts_with('"'));
        let content: Vec<&RawValue> =
            content.and_then(|content| serde_json::from_str(content.get()).ok()).unwrap_or_default();
        let content = raw(&with_text_part(content, text));
        item.set("content", content);
        item.to_raw()
    }

    /// Changes nothing: the status of a response does not depend on its calls.
    fn set_finish(&self, _fields: &mut RawObject, _finish: Finish) {}

    fn failure(&self, fields: &RawObject) -> Option<AnswerError> {
        let is_failed = fields.get("status").and_then(string).as_deref() == Some("failed");
        let is_error = fields.get("type").and_then(string).as_deref() == Some("error");
        if is_failed || is_error || present(fields.get("error")).is_some() {
            return Some(AnswerError::new("the answer is a failed response or an error object with a success status"));
        }
        let has_output = present(fields.get("output")).is_some();
        (!has_output).then(|| AnswerError::new("the answer has no `output`"))
    }
}

/// Member of a call with the namespace of its tool.
const NAMESPACE: &str = "namespace";

/// Type of the call of a function.
const FUNCTION_CALL: &str = "function_call";

/// Type of the call of a custom tool.
const CUSTOM_TOOL_CALL: &str = "custom_tool_call";

/// Changes the type of an item, and its id, whose prefix the API checks.
fn change_type(item: &mut RawObject, kind: &str, id_prefix: &str) {
    item.set("type", raw(kind));
    if present(item.get("id")).is_some() {
        item.set("id", raw(&new_id(id_prefix)));
    }
}

/// `status` of an incomplete response.
pub(super) const INCOMPLETE: &str = "incomplete";

/// Reads a message of the model: its text, or else its refusal.
fn read_message(item: &ObjectFields<'_>) -> PartKind {
    let Some(content) = item.get("content") else { return PartKind::Text(String::new()) };
    if let Some(text) = string(content) {
        return PartKind::Text(text.into_owned());
    }
    let Some(parts) = item.items("content") else { return PartKind::Other };
    let texts: Vec<Cow<'_, str>> = parts.iter().filter_map(|part| output_text(part)).collect();
    if !texts.is_empty() || parts.is_empty() {
        return PartKind::Text(texts.concat());
    }
    let refusals = parts.iter().filter_map(|part| ObjectFields::parse(part.get())?.string("refusal"));
    let refusals: Vec<Cow<'_, str>> = refusals.collect();
    if refusals.is_empty() { PartKind::Other } else { PartKind::Refusal(refusals.concat()) }
}

/// Returns the text of a part of a message; `None` if it is a part of another kind.
pub(super) fn output_text(part: &RawValue) -> Option<Cow<'_, str>> {
    let fields = ObjectFields::parse(part.get());
    let kind = fields.as_ref().and_then(|fields| fields.string("type"));
    match kind.as_deref() {
        None | Some("output_text" | "text" | "input_text") => part_text(part),
        Some(_) => None,
    }
}

/// Returns the text of a reasoning item: its summary and its content.
pub(super) fn reasoning_text(item: &ObjectFields<'_>) -> String {
    let parts = ["summary", "content"].into_iter().filter_map(|key| item.items(key)).flatten();
    let texts: Vec<Cow<'_, str>> = parts.filter_map(part_text).collect();
    texts.join("\n")
}

fn text_part(text: &str) -> RawObject {
    let empty: [(); 0] = [];
    object([("type", raw("output_text")), ("annotations", raw(&empty)), ("logprobs", raw(&empty)), ("text", raw(text))])
}

/// Returns the parts of a message with one text part in place of the first. Annotations and logprobs of the replaced text
/// refer to its positions and are removed.
fn with_text_part(content: Vec<&RawValue>, text: &str) -> Vec<Box<RawValue>> {
    let mut parts = Vec::with_capacity(content.len() + 1);
    let mut is_written = false;
    for part in content {
        if output_text(part).is_none() {
            parts.push(part.to_owned());
        } else if !is_written {
            let mut first = object_at(Some(part));
            for (key, value) in text_part(text).iter() {
                if key != "logprobs" || first.contains(key) {
                    first.set(key, value.to_owned());
                }
            }
            parts.push(first.to_raw());
            is_written = true;
        }
    }
    if !is_written {
        parts.push(text_part(text).to_raw());
    }
    parts
}
