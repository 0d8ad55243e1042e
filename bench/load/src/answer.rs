//! Fixed responses of the mock upstream, and their selection by URL.
//!
//! Everything in the path before `/v1/` is parsed as `key=value` pairs joined by `&`, so that a proxy's base URL
//! selects the response: `http://127.0.0.1:9000/answer=call&chunks=20&spacing_ms=5/v1/chat/completions`.

use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::chunks::EMPTY_STAMP;

/// Content of the response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A few sentences.
    Text,
    /// One call of `get_weather`, with arguments that its schema accepts.
    #[default]
    Call,
}

/// Parameters of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    /// `answer=text|call`.
    pub(crate) kind: Kind,
    /// `delay_ms=N`: pause before the first byte.
    pub(crate) delay: Duration,
    /// `chunks=N`: deltas that carry the text or the arguments of a streamed answer.
    pub(crate) chunks: usize,
    /// `spacing_ms=N`: pause before every event but the first.
    pub(crate) spacing: Duration,
    /// `size=N`: length of the text in bytes. Calls always have the same arguments.
    pub(crate) size: usize,
    /// `stamps=1`: every delta of a chat's text carries the time at which it is written ([`crate::chunks`]).
    pub(crate) stamps: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            kind: Kind::Call,
            delay: Duration::ZERO,
            chunks: 8,
            spacing: Duration::ZERO,
            size: TEXT.len(),
            stamps: false,
        }
    }
}

impl Plan {
    /// Parses the plan in `path`. Absent settings have their defaults.
    ///
    /// # Errors
    /// If a setting is unknown or its value is invalid: a measurement with a misspelt setting would measure something
    /// else.
    pub(crate) fn of_path(path: &str) -> Result<Self, String> {
        let mut plan = Self::default();
        let Some((settings, _)) = path.trim_start_matches('/').split_once("v1/") else {
            return Err(format!("no /v1/ in {path}"));
        };
        for pair in settings.trim_end_matches('/').split('&').filter(|pair| !pair.is_empty()) {
            let number = |text: &str| text.parse::<u64>().map_err(|error| format!("{pair}: {error}"));
            match pair.split_once('=') {
                Some(("answer", "text")) => plan.kind = Kind::Text,
                Some(("answer", "call")) => plan.kind = Kind::Call,
                Some(("delay_ms", text)) => plan.delay = Duration::from_millis(number(text)?),
                Some(("spacing_ms", text)) => plan.spacing = Duration::from_millis(number(text)?),
                Some(("chunks", text)) => plan.chunks = number(text)?.clamp(1, 10_000) as usize,
                Some(("size", text)) => plan.size = number(text)?.clamp(1, 10_000_000) as usize,
                Some(("stamps", "1")) => plan.stamps = true,
                _ => return Err(format!("unknown setting {pair}")),
            }
        }
        Ok(plan)
    }
}

/// Members of a request that determine the response.
#[derive(Debug, Deserialize)]
pub(crate) struct RequestMembers<'a> {
    #[serde(borrow)]
    pub(crate) model: std::borrow::Cow<'a, str>,
    #[serde(default)]
    pub(crate) stream: bool,
}

const TEXT: &str = "In Paris it is nine degrees and raining. Take a coat that keeps the water out, and leave the \
                    bicycle at home: the wind comes from the west at forty kilometres an hour and turns north at noon.";
const ARGUMENTS: &str =
    r#"{"city":"Paris","country":"FR","unit":"celsius","days":3,"include":["wind","rain"],"detail":{"hourly":true}}"#;

/// Content of a response, with the text that a plan selects.
pub(crate) struct Content {
    kind: Kind,
    text: String,
    stamps: bool,
}

impl Content {
    /// Returns the content of a plan.
    pub(crate) fn of_plan(plan: &Plan) -> Self {
        let text = TEXT.bytes().chain(*b" ").cycle().take(plan.size).map(char::from).collect();
        Self { kind: plan.kind, text, stamps: plan.stamps }
    }
}

/// Wire protocol of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Chat,
    Responses,
    Messages,
}

impl Wire {
    /// Returns the protocol of an endpoint.
    pub(crate) fn of_path(path: &str) -> Self {
        if path.ends_with("/responses") {
            Self::Responses
        } else if path.ends_with("/messages") {
            Self::Messages
        } else {
            Self::Chat
        }
    }
}

/// Returns a whole response.
pub(crate) fn whole(wire: Wire, content: &Content, model: &str) -> Bytes {
    match wire {
        Wire::Chat => chat(content, model),
        Wire::Responses => Bytes::from(response(content, model).to_string()),
        Wire::Messages => Bytes::from(message(content, model).to_string()),
    }
}

/// Returns the events of a streamed response.
pub(crate) fn events(wire: Wire, content: &Content, model: &str, chunks: usize) -> Vec<Bytes> {
    match wire {
        Wire::Chat => chat_events(content, model, chunks),
        Wire::Responses => response_events(content, model, chunks),
        Wire::Messages => message_events(content, model, chunks),
    }
}

/// Returns the part of an answer in the Responses protocol.
fn item(content: &Content) -> Value {
    match content.kind {
        Kind::Text => json!({"id": "msg_Bw1nD0s9", "type": "message", "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "text": content.text, "annotations": [], "logprobs": []}]}),
        Kind::Call => {
            json!({"id": "fc_Bw1nD0s9", "type": "function_call", "status": "completed", "call_id": "call_Zk3nQ9vR1",
            "name": "get_weather", "arguments": ARGUMENTS})
        }
    }
}

fn response(content: &Content, model: &str) -> Value {
    json!({
        "id": "resp_Bw1nD0s9TqLmZk3nQ9vR1xY2aB3cD", "object": "response", "created_at": 1_750_000_000,
        "status": "completed", "error": null, "incomplete_details": null, "model": model, "output": [item(content)],
        "parallel_tool_calls": true, "service_tier": "default", "temperature": 0.2,
        "usage": {"input_tokens": 182, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 41,
            "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 223},
    })
}

fn response_events(content: &Content, model: &str, chunks: usize) -> Vec<Bytes> {
    let whole = response(content, model);
    let mut begun = whole.clone();
    (begun["status"], begun["output"], begun["usage"]) = (json!("in_progress"), json!([]), Value::Null);
    let done = item(content);
    let mut added = done.clone();
    added["status"] = json!("in_progress");
    let id = done["id"].clone();
    let mut events = vec![
        json!({"type": "response.created", "response": begun}),
        json!({"type": "response.in_progress", "response": begun}),
    ];
    let at = |kind: &str| json!({"type": kind, "item_id": id, "output_index": 0});
    let in_part = |kind: &str, key: &str, value: Value| {
        let mut event = at(kind);
        event["content_index"] = json!(0);
        event[key] = value;
        event
    };
    match content.kind {
        Kind::Text => {
            added["content"] = json!([]);
            events.push(json!({"type": "response.output_item.added", "output_index": 0, "item": added}));
            let mut part = done["content"][0].clone();
            part["text"] = json!("");
            events.push(in_part("response.content_part.added", "part", part));
            for piece in pieces(&content.text, chunks) {
                let mut delta = in_part("response.output_text.delta", "delta", json!(piece));
                delta["logprobs"] = json!([]);
                events.push(delta);
            }
            let mut end = in_part("response.output_text.done", "text", json!(content.text));
            end["logprobs"] = json!([]);
            events.push(end);
            events.push(in_part("response.content_part.done", "part", done["content"][0].clone()));
        }
        Kind::Call => {
            added["arguments"] = json!("");
            events.push(json!({"type": "response.output_item.added", "output_index": 0, "item": added}));
            for piece in pieces(ARGUMENTS, chunks) {
                let mut delta = at("response.function_call_arguments.delta");
                delta["delta"] = json!(piece);
                events.push(delta);
            }
            let mut end = at("response.function_call_arguments.done");
            (end["arguments"], end["name"]) = (json!(ARGUMENTS), json!("get_weather"));
            events.push(end);
        }
    }
    events.push(json!({"type": "response.output_item.done", "output_index": 0, "item": done}));
    events.push(json!({"type": "response.completed", "response": whole}));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    events.iter().map(named_event).collect()
}

/// Returns the block of an answer in the Messages protocol.
fn block(content: &Content) -> Value {
    match content.kind {
        Kind::Text => json!({"type": "text", "text": content.text}),
        Kind::Call => {
            let input: Value = serde_json::from_str(ARGUMENTS).unwrap_or_default();
            json!({"type": "tool_use", "id": "toolu_Zk3nQ9vR1", "name": "get_weather", "input": input})
        }
    }
}

fn message(content: &Content, model: &str) -> Value {
    let reason = if content.kind == Kind::Text { "end_turn" } else { "tool_use" };
    json!({
        "id": "msg_Bw1nD0s9TqLmZk3nQ9vR1xY2aB3cD", "type": "message", "role": "assistant", "model": model,
        "content": [block(content)], "stop_reason": reason, "stop_sequence": null,
        "usage": {"input_tokens": 182, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 41},
    })
}

fn message_events(content: &Content, model: &str, chunks: usize) -> Vec<Bytes> {
    let whole = message(content, model);
    let mut begun = whole.clone();
    (begun["content"], begun["stop_reason"], begun["usage"]["output_tokens"]) = (json!([]), Value::Null, json!(1));
    let mut start = block(content);
    let (text, delta_kind, key) = match content.kind {
        Kind::Text => {
            start["text"] = json!("");
            (content.text.as_str(), "text_delta", "text")
        }
        Kind::Call => {
            start["input"] = json!({});
            (ARGUMENTS, "input_json_delta", "partial_json")
        }
    };
    let mut events = vec![
        json!({"type": "message_start", "message": begun}),
        json!({"type": "content_block_start", "index": 0, "content_block": start}),
    ];
    events
        .extend(pieces(text, chunks).map(
            |piece| json!({"type": "content_block_delta", "index": 0, "delta": {"type": delta_kind, key: piece}}),
        ));
    events.push(json!({"type": "content_block_stop", "index": 0}));
    let delta = json!({"stop_reason": whole["stop_reason"], "stop_sequence": null});
    events.push(json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 41}}));
    events.push(json!({"type": "message_stop"}));
    events.iter().map(named_event).collect()
}

/// Writes an event with its type as name.
fn named_event(event: &Value) -> Bytes {
    Bytes::from(format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default()))
}

fn chat(content: &Content, model: &str) -> Bytes {
    let (message, finish_reason) = match content.kind {
        Kind::Text => (json!({"role": "assistant", "content": content.text, "refusal": null}), "stop"),
        Kind::Call => {
            let call = json!({"id": "call_Zk3nQ9vR1", "type": "function", "function": {"name": "get_weather", "arguments": ARGUMENTS}});
            (json!({"role": "assistant", "content": null, "refusal": null, "tool_calls": [call]}), "tool_calls")
        }
    };
    let choice = json!({"index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason});
    let mut body = head(model, "chat.completion", choice);
    body["usage"] = json!({"prompt_tokens": 182, "completion_tokens": 41, "total_tokens": 223});
    Bytes::from(body.to_string())
}

fn chat_events(content: &Content, model: &str, chunks: usize) -> Vec<Bytes> {
    let (text, finish_reason) = match content.kind {
        Kind::Text => (content.text.as_str(), "stop"),
        Kind::Call => (ARGUMENTS, "tool_calls"),
    };
    let mut deltas =
        vec![json!({"role": "assistant", "content": if content.kind == Kind::Text { json!("") } else { Value::Null }})];
    if content.kind == Kind::Call {
        let function = json!({"name": "get_weather", "arguments": ""});
        deltas.push(
            json!({"tool_calls": [{"index": 0, "id": "call_Zk3nQ9vR1", "type": "function", "function": function}]}),
        );
    }
    for piece in pieces(text, chunks) {
        deltas.push(match content.kind {
            Kind::Text if content.stamps => json!({"content": format!("{piece}{EMPTY_STAMP}")}),
            Kind::Text => json!({"content": piece}),
            Kind::Call => json!({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}),
        });
    }
    let mut events: Vec<Bytes> = deltas.iter().map(|delta| event(model, delta, None)).collect();
    events.push(event(model, &json!({}), Some(finish_reason)));
    events.push(Bytes::from_static(b"data: [DONE]\n\n"));
    events
}

fn event(model: &str, delta: &Value, finish_reason: Option<&str>) -> Bytes {
    let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason});
    Bytes::from(format!("data: {}\n\n", head(model, "chat.completion.chunk", choice)))
}

fn head(model: &str, object: &str, choice: Value) -> Value {
    json!({
        "id": "chatcmpl-Bw1nD0s9TqLmZk3nQ9vR1xY2aB3cD", "object": object, "created": 1_750_000_000, "model": model,
        "service_tier": "default", "system_fingerprint": "fp_44709d6fcb", "choices": [choice],
    })
}

/// Splits ASCII `text` into at most `count` pieces of equal length.
fn pieces(text: &str, count: usize) -> impl Iterator<Item = &str> {
    let length = text.len().div_ceil(count).max(1);
    (0..text.len()).step_by(length).filter_map(move |start| text.get(start..text.len().min(start + length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_selects_the_answer() {
        let plan = Plan::of_path("/answer=text&chunks=100&size=300&spacing_ms=5&stamps=1/v1/chat/completions").unwrap();
        let spacing = Duration::from_millis(5);
        let expected = Plan { kind: Kind::Text, chunks: 100, size: 300, spacing, stamps: true, ..Plan::default() };
        assert_eq!(plan, expected);
        for wrong in ["/answer=nothing/v1/chat/completions", "/chunks=x/v1/", "/chat/completions"] {
            assert!(Plan::of_path(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_text_has_the_size_and_the_pieces_that_were_requested() {
        let plan = Plan { kind: Kind::Text, chunks: 100, size: 300, stamps: true, ..Plan::default() };
        let content = Content::of_plan(&plan);
        assert_eq!(content.text.len(), 300);
        assert!(content.text.starts_with("In Paris ") && content.text.contains("at noon. In Paris"));
        let events = events(Wire::Chat, &content, "mock", plan.chunks);
        let stamped = events.iter().filter(|event| memchr::memmem::find(event, EMPTY_STAMP.as_bytes()).is_some());
        assert_eq!(stamped.count(), 100);
    }
}
