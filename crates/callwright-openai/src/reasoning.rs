//! Parts of a message besides its text: reasoning, and content of other kinds.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::assistant::MessageContent;
use super::chat_message::ChatMessage;
use super::content::{part_text, text_of};
use super::fields::{ObjectFields, present, string};

/// Members with the model's reasoning, in the order of lookup. Servers use one of them: `reasoning_content`
/// (DeepSeek, SGLang, llama.cpp) or `reasoning` (vLLM, OpenRouter, Ollama).
const REASONING: [&str; 2] = ["reasoning_content", "reasoning"];

/// Members with content that is neither text nor a call: audio and generated images.
const OTHER_CONTENT: [&str; 3] = ["audio", "images", "image"];

/// Types of content parts with reasoning.
const REASONING_PARTS: [&str; 4] = ["thinking", "redacted_thinking", "reasoning", "reasoning_text"];

/// Members that clients return unchanged with the next request, and that belong to the calls of their message:
/// reasoning in the format of OpenRouter (`reasoning_details`) and LiteLLM (`thinking_blocks`,
/// `provider_specific_fields`), with its signatures and encrypted content.
const OPAQUE: [&str; 9] = [
    "reasoning_details",
    "thinking_blocks",
    "provider_specific_fields",
    "extra_content",
    "reasoning_opaque",
    "encrypted_content",
    "signature",
    "thinking_signature",
    "thought_signature",
];

/// Whether a member has reasoning, or content that is neither text nor a call.
pub(super) fn is_beside_text(key: &str) -> bool {
    REASONING.contains(&key) || OTHER_CONTENT.contains(&key)
}

/// Whether only the provider can interpret a member of a message or delta.
pub(super) fn is_opaque(key: &str) -> bool {
    OPAQUE.contains(&key)
}

/// Returns the model's reasoning if it is separate from the text: in its own member, or in parts of the content.
pub(super) fn reasoning_of(message: &ChatMessage) -> Option<String> {
    if message.is_plain() {
        return None;
    }
    let members = REASONING.iter().filter_map(|key| message.fields().get(key).and_then(string));
    let mut members = members.filter(|text| !text.trim().is_empty());
    members.next().map(Cow::into_owned).or_else(|| {
        let parts = content_parts(message);
        let texts: Vec<Cow<'_, str>> = parts.iter().filter_map(|part| thinking(part)).collect();
        (!texts.is_empty()).then(|| texts.concat())
    })
}

/// Whether a message contains only text and reasoning: no call, refusal, audio or image.
pub(super) fn is_only_text(message: &ChatMessage) -> bool {
    message.calls().is_empty()
        && !message.has_unjudged_calls()
        && message.refusal().is_none()
        && (message.is_plain()
            || (OTHER_CONTENT.iter().all(|key| present(message.fields().get(key)).is_none_or(is_empty))
                && content_parts(message).into_iter().all(is_text_or_reasoning)))
}

/// Returns the parts of a content that is an array.
fn content_parts(message: &ChatMessage) -> Vec<&RawValue> {
    message.fields().get_as("content").unwrap_or_default()
}

fn is_text_or_reasoning(part: &RawValue) -> bool {
    part_text(part).is_some() || ObjectFields::parse(part.get()).is_some_and(|part| is_reasoning(&part))
}

fn is_reasoning(part: &ObjectFields<'_>) -> bool {
    part.string("type").is_some_and(|kind| REASONING_PARTS.contains(&kind.as_ref()))
}

/// Returns the text of a thinking part: a string, or an array of text parts.
fn thinking(part: &RawValue) -> Option<Cow<'_, str>> {
    let fields = ObjectFields::parse(part.get()).filter(is_reasoning)?;
    text_of(fields.get("thinking")?, "").map(|text| Cow::Owned(text.into_owned()))
}

fn is_empty(value: &RawValue) -> bool {
    let inner = value.get().strip_prefix(['[', '{', '"']).and_then(|rest| rest.strip_suffix([']', '}', '"']));
    inner.is_some_and(|inner| inner.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serde_json::{Value, json};

    use crate::{AssistantMessage, Completion};

    fn message(message: &Value) -> AssistantMessage {
        let body = json!({ "choices": [{ "message": message }] }).to_string();
        Completion::parse(callwright_types::Protocol::Chat, Bytes::from(body)).unwrap().choices()[0].message.clone()
    }

    #[test]
    fn reasoning_is_found_wherever_servers_put_it() {
        for (value, expected) in [
            (json!({"content": "", "reasoning_content": "hm", "reasoning": "other"}), Some("hm")),
            (json!({"content": null, "reasoning_content": " ", "reasoning": "hm"}), Some("hm")),
            (
                json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "h"}, {"type": "text", "text": "m"}]}]}),
                Some("hm"),
            ),
            (
                json!({"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Done."}]}),
                Some("hm"),
            ),
            (json!({"content": "Done.", "reasoning": {"effort": "low"}}), None),
            (json!({"content": "Done."}), None),
        ] {
            assert_eq!(message(&value).reasoning().as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn content_of_other_kinds_is_told_from_text() {
        for value in [
            json!({}),
            json!({"content": null, "refusal": null, "audio": null, "images": [], "annotations": []}),
            json!({"content": "x", "reasoning_details": [{"type": "reasoning.text"}], "tool_calls": []}),
            json!({"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": ""}]}),
        ] {
            assert!(message(&value).is_only_text(), "{value}");
        }
        for value in [
            json!({"content": null, "refusal": "No."}),
            json!({"content": null, "audio": {"id": "a"}}),
            json!({"content": "", "images": [{"type": "image_url"}]}),
            json!({"content": [{"type": "image_url", "image_url": {"url": "data:"}}]}),
            json!({"tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}),
            json!({"tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "f", "input": ""}}]}),
            json!({"function_call": {"name": "f", "arguments": "{}"}}),
        ] {
            assert!(!message(&value).is_only_text(), "{value}");
        }
    }
}
