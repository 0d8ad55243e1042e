//! Answers of chat completions.

use serde_json::json;

use super::chat_message::object_at;
use super::parts::{AnswerForm, MessageContent, PartsForm};
use super::usage::{CHAT_COUNTS, read_usage, with_usage};
use callwright_common::json::{RawObject, raw};
use callwright_types::{Protocol, Usage, ids};

/// Values of `finish_reason` for an incomplete answer: the token limit (`max_tokens` at some other providers) or a
/// content filter.
const CUT_OFF: [&str; 3] = ["length", "max_tokens", "content_filter"];

/// Answers of this protocol.
#[derive(Debug)]
pub(crate) struct ChatAnswer;

impl AnswerForm for ChatAnswer {
    fn protocol(&self) -> Protocol {
        Protocol::Chat
    }

    fn as_parts(&'static self) -> Option<&'static dyn PartsForm> {
        None
    }

    fn minted(&self, model: &str) -> RawObject {
        let message = json!({"role": "assistant", "content": null, "refusal": null});
        let choice = json!({"index": 0, "message": message, "logprobs": null, "finish_reason": "stop"});
        object_at(Some(&raw(&json!({
            "id": ids::completion_id(), "object": "chat.completion", "created": now(), "model": model,
            "choices": [choice], "usage": Usage::default(),
        }))))
    }

    fn finish_reason(&self, _fields: &RawObject) -> Option<String> {
        None
    }

    fn is_cut_off(&self, reason: &str) -> bool {
        is_cut_off(reason)
    }

    fn contradicts_calls(&self, message: &dyn MessageContent, reason: Option<&str>) -> bool {
        let has_calls = !message.calls().is_empty() || message.has_unjudged_calls();
        let expected = if message.is_legacy() { "function_call" } else { "tool_calls" };
        has_calls && reason != Some(expected) && !reason.is_some_and(is_cut_off)
    }

    fn usage(&self, fields: &RawObject) -> Option<Usage> {
        read_usage(fields.get("usage"), CHAT_COUNTS)
    }

    fn set_usage(&self, fields: &mut RawObject, usage: Usage) {
        fields.set("usage", with_usage(fields.get("usage"), usage, CHAT_COUNTS));
    }
}

/// Whether this `finish_reason` marks an incomplete answer.
pub(crate) fn is_cut_off(finish_reason: &str) -> bool {
    CUT_OFF.contains(&finish_reason)
}

/// Returns the seconds since the Unix epoch, for `created` of a completion without an upstream date.
pub(super) fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}
