//! Responses of an upstream in the format of OpenAI's API.

use serde_json::{Value, json};

use super::reply::Reply;

/// Returns a call as it is in a message.
pub(crate) fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

/// Returns a whole completion with this message.
pub(crate) fn completion(message: Value, finish_reason: &str) -> Value {
    json!({
        "id": "chatcmpl-upstream", "object": "chat.completion", "created": 1_750_000_000, "model": "gpt-test-2026-01-01",
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25},
        "system_fingerprint": "fp_test",
    })
}

/// Returns a whole text response.
pub(crate) fn text(content: &str) -> Reply {
    Reply::json(200, &completion(json!({"role": "assistant", "content": content}), "stop"))
}

/// Returns a whole response with these calls.
pub(crate) fn calls(calls: &[Value]) -> Reply {
    Reply::json(200, &completion(json!({"role": "assistant", "content": null, "tool_calls": calls}), "tool_calls"))
}

/// Returns a whole response with one call.
pub(crate) fn one_call(name: &str, arguments: &str) -> Reply {
    calls(&[call("call_upstream1", name, arguments)])
}

/// Returns a chunk with this delta for choice 0.
pub(crate) fn chunk(delta: Value) -> Value {
    chunk_of(json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}]))
}

/// Returns the chunk that ends choice 0.
pub(crate) fn finish(reason: &str) -> Value {
    chunk_of(json!([{"index": 0, "delta": {}, "logprobs": null, "finish_reason": reason}]))
}

/// Returns a chunk with these choices.
pub(crate) fn chunk_of(choices: Value) -> Value {
    json!({
        "id": "chatcmpl-upstream", "object": "chat.completion.chunk", "created": 1_750_000_000,
        "model": "gpt-test-2026-01-01", "system_fingerprint": "fp_test", "choices": choices,
    })
}

/// Returns the first chunk of choice 0.
pub(crate) fn role() -> Value {
    chunk(json!({"role": "assistant", "content": ""}))
}

/// Returns a chunk of text.
pub(crate) fn text_chunk(text: &str) -> Value {
    chunk(json!({"content": text}))
}

/// Returns the chunk that begins a call.
pub(crate) fn call_begin(index: usize, id: &str, name: &str) -> Value {
    chunk(
        json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}]}),
    )
}

/// Returns a chunk with a part of a call's arguments.
pub(crate) fn call_piece(index: usize, arguments: &str) -> Value {
    chunk(json!({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]}))
}

/// Returns the chunks of a streamed text response, word by word.
pub(crate) fn text_chunks(text: &str) -> Vec<Value> {
    let mut chunks = vec![role()];
    chunks.extend(text.split_inclusive(' ').map(text_chunk));
    chunks.push(finish("stop"));
    chunks
}

/// Returns the chunks of a streamed response with calls `(id, name, arguments)`, with arguments in pieces of four
/// characters.
pub(crate) fn call_chunks(calls: &[(&str, &str, &str)]) -> Vec<Value> {
    let mut chunks = vec![chunk(json!({"role": "assistant", "content": null}))];
    for (index, (id, name, arguments)) in calls.iter().enumerate() {
        chunks.push(call_begin(index, id, name));
        let characters: Vec<char> = arguments.chars().collect();
        chunks.extend(characters.chunks(4).map(|piece| call_piece(index, &piece.iter().collect::<String>())));
    }
    chunks.push(finish("tool_calls"));
    chunks
}
