//! Complete answers.

use std::borrow::Cow;

use bytes::Bytes;
use http::StatusCode;
use serde_json::value::RawValue;

use super::blocks::{
    ASSISTANT, CONTENT, REDACTED_THINKING, TEXT, THINKING, TOOL_USE, input, is_call_id, read_call, text_block,
};
use crate::chat_message::set_string;
use crate::fields::{ObjectFields, object, present, string};
use crate::parts::{AnswerForm, Finish, PartKind};
use crate::usage::count;
use crate::{AnswerError, ErrorBody};
use callwright_common::json::{RawObject, raw};
use callwright_types::{Call, Usage, ids};

/// Member with the reason why the answer ended.
pub(super) const STOP_REASON: &str = "stop_reason";

/// Member with the custom stop sequence that ended the answer.
pub(super) const STOP_SEQUENCE: &str = "stop_sequence";

/// Member with the token counts.
pub(super) const USAGE: &str = "usage";

/// Values of `stop_reason` for an incomplete answer.
const CUT_OFF: [&str; 3] = ["max_tokens", "model_context_window_exceeded", "refusal"];

/// Value of `stop_reason` for an answer that ends with text.
const END_TURN: &str = "end_turn";

/// Status of an overloaded server, which HTTP does not define.
const OVERLOADED: u16 = 529;

/// Answers of this protocol.
#[derive(Debug)]
pub(crate) struct MessagesAnswer;

impl AnswerForm for MessagesAnswer {
    fn parts_key(&self) -> &'static str {
        CONTENT
    }

    fn read_part(&self, part: &RawValue) -> PartKind {
        let Some(block) = ObjectFields::parse(part.get()) else { return PartKind::Other };
        match block.string("type").as_deref() {
            Some(TEXT) => PartKind::Text(block.string("text").unwrap_or_default().into_owned()),
            Some(THINKING) => PartKind::Reasoning(block.string(THINKING).unwrap_or_default().into_owned()),
            Some(REDACTED_THINKING) => PartKind::Reasoning(String::new()),
            // The tools of a toolset have neither an element in the request nor a schema.
            Some(TOOL_USE) if block.get("toolset_name").is_some() => PartKind::Unjudged(read_call(&block)),
            Some(TOOL_USE) => judged_call(&block),
            _ => PartKind::Other,
        }
    }

    fn with_call(&self, part: Option<&RawValue>, call: &Call) -> Box<RawValue> {
        let mut block = part.and_then(|part| RawObject::parse(part.get()).ok()).unwrap_or_default();
        set_string(&mut block, "type", TOOL_USE);
        set_string(&mut block, "id", &call.id);
        set_string(&mut block, "name", &call.name);
        let kept = present(block.get("input")).filter(|kept| kept.get().starts_with('{'));
        if kept.is_none_or(|kept| kept.get() != call.arguments) {
            block.set("input", input(&call.arguments));
        }
        block.to_raw()
    }

    fn with_text(&self, part: Option<&RawValue>, text: &str) -> Box<RawValue> {
        let Some(mut block) = part.and_then(|part| RawObject::parse(part.get()).ok()) else { return text_block(text) };
        set_string(&mut block, "text", text);
        block.to_raw()
    }

    fn finish_reason(&self, fields: &RawObject) -> Option<String> {
        fields.get(STOP_REASON).and_then(string).map(Cow::into_owned)
    }

    fn is_cut_off(&self, reason: &str) -> bool {
        CUT_OFF.contains(&reason)
    }

    fn contradicts_calls(&self, reason: &str) -> bool {
        matches!(reason, END_TURN | STOP_SEQUENCE)
    }

    fn set_finish(&self, fields: &mut RawObject, finish: Finish) {
        let reason = self.finish_reason(fields);
        let new = match (finish, reason.as_deref()) {
            (Finish::Calls, Some(TOOL_USE)) => return,
            (Finish::Calls, Some(reason)) if self.is_cut_off(reason) => return,
            (Finish::Calls, _) => TOOL_USE,
            (Finish::Text, Some(TOOL_USE)) => END_TURN,
            (Finish::Text, _) => return,
        };
        fields.set(STOP_REASON, raw(new));
        if present(fields.get(STOP_SEQUENCE)).is_some() {
            fields.set(STOP_SEQUENCE, raw(&()));
        }
    }

    fn usage(&self, fields: &RawObject) -> Option<Usage> {
        let usage = ObjectFields::parse(present(fields.get(USAGE))?.get())?;
        let cached_tokens = count(&usage, "cache_read_input_tokens").unwrap_or(0);
        let prompt_tokens = count(&usage, "input_tokens")
            .unwrap_or(0)
            .saturating_add(created_tokens(&usage))
            .saturating_add(cached_tokens);
        let completion_tokens = count(&usage, "output_tokens").unwrap_or(0);
        let total_tokens = prompt_tokens.saturating_add(completion_tokens);
        Some(Usage { prompt_tokens, completion_tokens, total_tokens, cached_tokens })
    }

    fn set_usage(&self, fields: &mut RawObject, usage: Usage) {
        let mut object: RawObject = fields.get_as(USAGE).unwrap_or_default();
        let known = object.to_raw();
        let in_cache = ObjectFields::parse(known.get()).map_or(0, |known| {
            created_tokens(&known).saturating_add(count(&known, "cache_read_input_tokens").unwrap_or(0))
        });
        object.set("input_tokens", raw(&usage.prompt_tokens.saturating_sub(in_cache)));
        object.set("output_tokens", raw(&usage.completion_tokens));
        fields.set(USAGE, object.to_raw());
    }

    fn minted(&self, model: &str) -> RawObject {
        let no_blocks: [&RawValue; 0] = [];
        object([
            ("id", raw(&format!("msg_{}{}", ids::call_id(), ids::call_id()))),
            ("type", raw("message")),
            ("role", raw(ASSISTANT)),
            ("model", raw(model)),
            (CONTENT, raw(&no_blocks)),
            (STOP_REASON, raw(END_TURN)),
            (STOP_SEQUENCE, raw(&())),
        ])
    }

    fn failure(&self, fields: &RawObject) -> Option<AnswerError> {
        let kind = fields.get("type").and_then(string);
        let has_content = present(fields.get(CONTENT)).is_some();
        if kind.as_deref() == Some("error") || !has_content && present(fields.get("error")).is_some() {
            return Some(AnswerError::new("the answer is an error object with a success status"));
        }
        let is_message = has_content || kind.as_deref() == Some("message") || fields.contains(STOP_REASON);
        (!is_message).then(|| AnswerError::new("the answer has no `content`"))
    }

    fn error_body(&self, error: &ErrorBody, status: StatusCode) -> Bytes {
        let mut members = object([("type", raw(error_type(status))), ("message", raw(&error.message))]);
        if let Some(code) = &error.code {
            members.set("code", raw(code));
        }
        let body = object([("type", raw("error")), ("error", members.to_raw())]);
        body.to_raw().get().as_bytes().to_vec().into()
    }
}

/// Returns the type of an error with this status (API reference, "Errors").
pub(super) fn error_type(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "authentication_error",
        StatusCode::PAYMENT_REQUIRED => "billing_error",
        StatusCode::FORBIDDEN => "permission_error",
        StatusCode::NOT_FOUND => "not_found_error",
        StatusCode::PAYLOAD_TOO_LARGE => "request_too_large",
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
        StatusCode::SERVICE_UNAVAILABLE => "overloaded_error",
        StatusCode::GATEWAY_TIMEOUT => "timeout_error",
        status if status.as_u16() == OVERLOADED => "overloaded_error",
        status if status.is_client_error() => "invalid_request_error",
        _ => "api_error",
    }
}

/// Reads a call of a function. An id that the API would reject counts as missing, so that it is generated.
fn judged_call(block: &ObjectFields<'_>) -> PartKind {
    let mut call = read_call(block);
    if !is_call_id(&call.id) {
        call.id.clear();
    }
    let is_object = block.get("input").is_some_and(|input| input.get().starts_with('{'));
    let is_well_formed = is_object && !call.id.is_empty() && block.string("name").is_some();
    PartKind::Call { call, is_well_formed }
}

/// Returns the tokens that the provider wrote to its cache.
fn created_tokens(usage: &ObjectFields<'_>) -> u64 {
    count(usage, "cache_creation_input_tokens").unwrap_or(0)
}
