//! Answers of the Messages protocol, as Anthropic's API reference defines them.

use serde_json::{Value, json};

use super::api::Part;
use super::responses_api::pieces;

/// Returns the block of a part.
pub(super) fn block(part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Thought(text) => json!({"type": "thinking", "thinking": text, "signature": "EqQBCgIYAhIM"}),
        Part::Call { id, name, arguments } => {
            let input: Value = serde_json::from_str(arguments).unwrap();
            json!({"type": "tool_use", "id": id, "name": name, "input": input})
        }
        Part::Other(block) => block.clone(),
    }
}

/// Returns a message with these blocks.
pub(super) fn message(blocks: Vec<Value>, stop_reason: Value) -> Value {
    json!({
        "id": "msg_upstream", "type": "message", "role": "assistant", "model": "claude-test-2026-01-01",
        "content": blocks, "stop_reason": stop_reason, "stop_sequence": null,
        "usage": {
            "input_tokens": 16, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 4, "output_tokens": 5,
            "service_tier": "standard",
        },
    })
}

/// Returns why an answer with these parts ends.
fn stop_reason(parts: &[Part]) -> &'static str {
    let is_call = |part: &Part| matches!(part, Part::Call { .. }) || block(part)["type"] == "tool_use";
    if parts.iter().any(is_call) { "tool_use" } else { "end_turn" }
}

pub(super) fn answer(parts: &[Part]) -> Value {
    message(parts.iter().map(block).collect(), json!(stop_reason(parts)))
}

/// Returns the events of a streamed message.
pub(super) fn events(parts: &[Part]) -> Vec<Value> {
    let mut head = message(Vec::new(), Value::Null);
    head["usage"]["output_tokens"] = json!(1);
    let mut events = vec![json!({"type": "message_start", "message": head}), json!({"type": "ping"})];
    for (at, part) in parts.iter().enumerate() {
        events.extend(block_events(at, part));
    }
    events.push(json!({
        "type": "message_delta", "delta": {"stop_reason": stop_reason(parts), "stop_sequence": null},
        "usage": {"output_tokens": 5},
    }));
    events.push(json!({"type": "message_stop"}));
    events
}

fn block_events(at: usize, part: &Part) -> Vec<Value> {
    let mut begun = block(part);
    let mut deltas: Vec<Value> = Vec::new();
    match part {
        Part::Text(text) => {
            begun["text"] = json!("");
            deltas.extend(pieces(text).into_iter().map(|piece| json!({"type": "text_delta", "text": piece})));
        }
        Part::Thought(text) => {
            let signature = begun["signature"].take();
            (begun["thinking"], begun["signature"]) = (json!(""), json!(""));
            deltas.extend(pieces(text).into_iter().map(|piece| json!({"type": "thinking_delta", "thinking": piece})));
            deltas.push(json!({"type": "signature_delta", "signature": signature}));
        }
        Part::Call { arguments, .. } => {
            begun["input"] = json!({});
            deltas.push(json!({"type": "input_json_delta", "partial_json": ""}));
            deltas.extend(
                pieces(arguments).into_iter().map(|piece| json!({"type": "input_json_delta", "partial_json": piece})),
            );
        }
        Part::Other(other) if other["input"].is_object() => {
            begun["input"] = json!({});
            deltas.push(json!({"type": "input_json_delta", "partial_json": other["input"].to_string()}));
        }
        Part::Other(_) => {}
    }
    let begin = json!({"type": "content_block_start", "index": at, "content_block": begun});
    let deltas = deltas.into_iter().map(|delta| json!({"type": "content_block_delta", "index": at, "delta": delta}));
    let end = json!({"type": "content_block_stop", "index": at});
    [begin].into_iter().chain(deltas).chain([end]).collect()
}

/// Returns a block as a short text.
pub(super) fn outline(block: &Value) -> String {
    let string = |value: &Value| value.as_str().unwrap_or_else(|| panic!("no text: {block}")).to_owned();
    match block["type"].as_str() {
        Some("text") => format!("text {}", string(&block["text"])),
        Some("thinking") => format!("thought {}", string(&block["thinking"])),
        Some("tool_use") => format!("call {} {}", string(&block["name"]), block["input"]),
        Some(kind) => kind.to_owned(),
        None => panic!("no type: {block}"),
    }
}
