//! Answers of the Responses protocol, as OpenAI's API reference defines them.

use serde_json::{Value, json};

use super::api::Part;

/// Number of characters of a delta.
const DELTA: usize = 4;

/// Returns the item of a part. Its `id` is unique among all answers with other content.
pub(super) fn item(at: usize, part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({
            "id": format!("msg_{at}{}", hash(text)), "type": "message", "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "annotations": [], "logprobs": [], "text": text}],
        }),
        Part::Thought(text) => json!({
            "id": format!("rs_{at}{}", hash(text)), "type": "reasoning", "summary": [{"type": "summary_text", "text": text}],
            "encrypted_content": format!("gAAAA{at}"),
        }),
        Part::Call { id, name, arguments } => json!({
            "id": format!("fc_{id}"), "type": "function_call", "status": "completed", "arguments": arguments,
            "call_id": id, "name": name,
        }),
        Part::Other(item) => item.clone(),
    }
}

/// Returns a short hash of a text.
fn hash(text: &str) -> String {
    let hash = text.bytes().fold(7_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(byte)));
    format!("{hash:08x}")
}

/// Returns a response with these items.
pub(super) fn response(status: &str, output: Vec<Value>) -> Value {
    let usage = json!({
        "input_tokens": 20, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 25,
    });
    json!({
        "id": "resp_upstream", "object": "response", "created_at": 1_750_000_000, "status": status, "background": false,
        "error": null, "incomplete_details": null, "instructions": null, "max_output_tokens": null,
        "model": "gpt-test-2026-01-01", "output": output, "parallel_tool_calls": true, "previous_response_id": null,
        "reasoning": {"effort": "medium", "summary": "auto"}, "service_tier": "default", "store": true,
        "temperature": 1.0, "text": {"format": {"type": "text"}, "verbosity": "medium"}, "tool_choice": "auto",
        "tools": [], "top_p": 1.0, "truncation": "disabled",
        "usage": if status == "completed" { usage } else { Value::Null },
        "user": null, "metadata": {},
    })
}

pub(super) fn answer(parts: &[Part]) -> Value {
    response("completed", items(parts))
}

fn items(parts: &[Part]) -> Vec<Value> {
    parts.iter().enumerate().map(|(at, part)| item(at, part)).collect()
}

/// Returns the events of a streamed response.
pub(super) fn events(parts: &[Part]) -> Vec<Value> {
    let mut events = Vec::new();
    for kind in ["response.created", "response.in_progress"] {
        events.push(json!({"type": kind, "response": response("in_progress", Vec::new())}));
    }
    for (at, part) in parts.iter().enumerate() {
        events.extend(item_events(at, part));
    }
    events.push(json!({"type": "response.completed", "response": answer(parts)}));
    numbered(events)
}

/// Numbers events in their order.
pub(super) fn numbered(mut events: Vec<Value>) -> Vec<Value> {
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    events
}

fn item_events(at: usize, part: &Part) -> Vec<Value> {
    let done = item(at, part);
    let mut begun = done.clone();
    if begun.get("status").is_some() {
        begun["status"] = json!("in_progress");
    }
    let id = done["id"].clone();
    let inner = match part {
        Part::Text(text) => {
            begun["content"] = json!([]);
            text_events(at, &id, text)
        }
        Part::Thought(text) => {
            begun["summary"] = json!([]);
            thought_events(at, &id, text)
        }
        Part::Call { arguments, .. } => {
            begun["arguments"] = json!("");
            argument_events(at, &id, "function_call_arguments", "arguments", arguments)
        }
        Part::Other(item) if item["type"] == "custom_tool_call" => {
            begun["input"] = json!("");
            argument_events(at, &id, "custom_tool_call_input", "input", item["input"].as_str().unwrap())
        }
        Part::Other(item) if item["type"] == "web_search_call" => ["in_progress", "searching", "completed"]
            .map(
                |state| json!({"type": format!("response.web_search_call.{state}"), "output_index": at, "item_id": id}),
            )
            .to_vec(),
        Part::Other(_) => Vec::new(),
    };
    let added = json!({"type": "response.output_item.added", "output_index": at, "item": begun});
    let done = json!({"type": "response.output_item.done", "output_index": at, "item": done});
    [vec![added], inner, vec![done]].concat()
}

fn text_events(at: usize, id: &Value, text: &str) -> Vec<Value> {
    let part = |text: &str| json!({"type": "output_text", "annotations": [], "logprobs": [], "text": text});
    let event = |kind: &str| json!({"type": kind, "item_id": id, "output_index": at, "content_index": 0});
    let mut events = vec![event("response.content_part.added")];
    events[0]["part"] = part("");
    for piece in pieces(text) {
        let mut delta = event("response.output_text.delta");
        (delta["delta"], delta["logprobs"], delta["obfuscation"]) = (json!(piece), json!([]), json!("x7Qk"));
        events.push(delta);
    }
    let mut done = event("response.output_text.done");
    (done["text"], done["logprobs"]) = (json!(text), json!([]));
    events.push(done);
    let mut done = event("response.content_part.done");
    done["part"] = part(text);
    events.push(done);
    events
}

fn thought_events(at: usize, id: &Value, text: &str) -> Vec<Value> {
    let event = |kind: &str| json!({"type": kind, "item_id": id, "output_index": at, "summary_index": 0});
    let mut events = vec![event("response.reasoning_summary_part.added")];
    events[0]["part"] = json!({"type": "summary_text", "text": ""});
    for piece in pieces(text) {
        let mut delta = event("response.reasoning_summary_text.delta");
        delta["delta"] = json!(piece);
        events.push(delta);
    }
    let mut done = event("response.reasoning_summary_text.done");
    done["text"] = json!(text);
    events.push(done);
    let mut done = event("response.reasoning_summary_part.done");
    done["part"] = json!({"type": "summary_text", "text": text});
    events.push(done);
    events
}

fn argument_events(at: usize, id: &Value, kind: &str, member: &str, arguments: &str) -> Vec<Value> {
    let event = |end: &str| json!({"type": format!("response.{kind}.{end}"), "item_id": id, "output_index": at});
    let mut events: Vec<Value> = pieces(arguments)
        .into_iter()
        .map(|piece| {
            let mut delta = event("delta");
            delta["delta"] = json!(piece);
            delta
        })
        .collect();
    let mut done = event("done");
    done[member] = json!(arguments);
    events.push(done);
    events
}

/// Returns a text in pieces of a few characters.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(DELTA).map(|piece| piece.iter().collect()).collect()
}

/// Returns an item as a short text.
pub(super) fn outline(item: &Value) -> String {
    let string = |value: &Value| value.as_str().unwrap_or_else(|| panic!("no text: {item}")).to_owned();
    match item["type"].as_str() {
        Some("message") => {
            let parts = item["content"].as_array().unwrap_or_else(|| panic!("no content: {item}"));
            format!("text {}", parts.iter().map(|part| string(&part["text"])).collect::<String>())
        }
        Some("reasoning") => format!("thought {}", string(&item["summary"][0]["text"])),
        Some("function_call") => format!("call {} {}", string(&item["name"]), string(&item["arguments"])),
        Some(kind) => kind.to_owned(),
        None => panic!("no type: {item}"),
    }
}
