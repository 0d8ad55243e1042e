//! Helpers for the tests of this protocol.

use bytes::{Bytes, BytesMut};
use serde_json::{Value, json};

use super::MessagesAssembly;
use crate::parts::{EventWriter, StreamForm};
use crate::{Completion, ModelRequest, SseEvent, SseReader};
use callwright_types::Protocol;

/// Limit of bytes that no test reaches.
pub(super) const UNLIMITED: usize = 1 << 24;

/// Returns an event as the API writes it.
pub(super) fn event(data: &Value) -> SseEvent {
    let kind = data["type"].as_str().unwrap_or_default();
    SseEvent { raw: format!("event: {kind}\ndata: {data}\n\n").into(), data: Some(data.to_string()) }
}

pub(super) fn head() -> Value {
    json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": 3, "cache_read_input_tokens": 2, "output_tokens": 1}}})
}

pub(super) fn start(index: usize, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

pub(super) fn delta(index: usize, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

pub(super) fn text_delta(index: usize, text: &str) -> Value {
    delta(index, json!({"type": "text_delta", "text": text}))
}

pub(super) fn input_delta(index: usize, text: &str) -> Value {
    delta(index, json!({"type": "input_json_delta", "partial_json": text}))
}

pub(super) fn stop(index: usize) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

pub(super) fn ending(reason: &str) -> [Value; 2] {
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    [json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 9}}), json!({"type": "message_stop"})]
}

pub(super) fn assembled(events: &[Value]) -> MessagesAssembly {
    let mut assembly = MessagesAssembly::new(UNLIMITED);
    for data in events {
        assembly.take(&event(data)).unwrap();
    }
    assembly
}

pub(super) fn completion_of(assembly: MessagesAssembly) -> Value {
    Box::new(assembly).into_completion().to_value()
}

/// Returns the events in written bytes.
pub(super) fn events(bytes: &[u8]) -> Vec<SseEvent> {
    SseReader::new(UNLIMITED).push(Bytes::copy_from_slice(bytes)).unwrap()
}

pub(super) fn rest(writer: &mut dyn EventWriter, answer: &Completion, is_same: bool) -> Vec<SseEvent> {
    let mut out = BytesMut::new();
    writer.rest(answer, is_same.then_some(0), &mut out);
    events(&out)
}

pub(super) fn data(event: &SseEvent) -> Value {
    serde_json::from_str(event.data.as_deref().unwrap_or("null")).unwrap()
}

pub(super) fn answer(value: &Value) -> Completion {
    Completion::parse(Protocol::Messages, value.to_string().into()).unwrap()
}

/// Returns an answer with these blocks.
pub(super) fn answer_of(blocks: &Value) -> Completion {
    answer(&json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": blocks,
        "stop_reason": "end_turn", "stop_sequence": null, "usage": {"input_tokens": 3, "output_tokens": 9}}))
}

pub(super) fn request(text: &str) -> ModelRequest {
    ModelRequest::parse(Protocol::Messages, Bytes::copy_from_slice(text.as_bytes())).unwrap()
}

pub(super) fn sent(request: &ModelRequest) -> String {
    String::from_utf8(request.to_bytes().to_vec()).unwrap()
}

pub(super) fn call(id: &str, name: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": {}})
}
