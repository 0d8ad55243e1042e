//! Tests of streams: helpers, and a strict client.

mod answer;
mod properties;
mod request;
mod stream;
mod writer;

use bytes::{Bytes, BytesMut};
use serde_json::{Value, json};

use super::{ResponsesAssembly, ResponsesWriter};
use crate::parts::{EventRole, EventWriter, StreamForm};
use crate::{Completion, SseEvent, SseReader};
use callwright_types::Protocol;

const MAX_BYTES: usize = 1 << 20;

/// Returns an answer with these items.
fn answer(output: &[Value]) -> Completion {
    answer_with(output, &json!({"status": "completed", "incomplete_details": null}))
}

/// Returns an answer with these items and further members.
fn answer_with(output: &[Value], members: &Value) -> Completion {
    let mut response = json!({
        "id": "resp_1", "object": "response", "created_at": 7, "model": "m", "error": null, "tools": [],
        "output": output,
        "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    });
    for (key, value) in members.as_object().unwrap() {
        response[key] = value.clone();
    }
    Completion::parse(Protocol::Responses, response.to_string().into()).unwrap()
}

fn message(id: &str, texts: &[&str]) -> Value {
    let content: Vec<Value> = texts.iter().map(|text| text_part(text)).collect();
    json!({"type": "message", "id": id, "status": "completed", "role": "assistant", "content": content})
}

fn text_part(text: &str) -> Value {
    json!({"type": "output_text", "annotations": [], "text": text})
}

fn function_call(id: &str, call_id: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": id, "call_id": call_id, "name": "f", "arguments": arguments, "status": "completed"})
}

/// Returns the bytes of events, numbered from 0.
fn stream_of(events: &[Value]) -> Vec<u8> {
    let numbered = events.iter().enumerate().map(|(number, event)| {
        let mut event = event.clone();
        event["sequence_number"] = json!(number);
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())
    });
    numbered.collect::<String>().into_bytes()
}

fn sse_events(bytes: &[u8]) -> Vec<SseEvent> {
    SseReader::new(MAX_BYTES).push(Bytes::copy_from_slice(bytes)).unwrap()
}

fn values(bytes: &[u8]) -> Vec<Value> {
    sse_events(bytes).iter().map(|event| serde_json::from_str(event.data.as_deref().unwrap()).unwrap()).collect()
}

fn assembled(bytes: &[u8]) -> (Box<ResponsesAssembly>, Vec<EventRole>) {
    let mut assembly = Box::new(ResponsesAssembly::new(MAX_BYTES));
    let roles = sse_events(bytes).iter().map(|event| assembly.take(event).unwrap()).collect();
    (assembly, roles)
}

/// Returns the events that a writer adds to those of the client.
fn rest(client: &[u8], answer: &Completion, is_same: bool) -> Vec<u8> {
    let mut writer = ResponsesWriter::default();
    sse_events(client).iter().for_each(|event| writer.forwarded(event));
    let mut out = BytesMut::new();
    writer.rest(answer, is_same.then_some(0), &mut out);
    out.to_vec()
}

fn output_of(completion: &Completion) -> Vec<Value> {
    completion.to_value()["output"].as_array().unwrap().clone()
}

/// Reads a stream as strictly as the API reference permits. Returns the final response.
fn strict_response(events: &[Value]) -> Value {
    let mut items: Vec<StrictItem> = Vec::new();
    let mut id = None;
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number, "{event}");
        match event["type"].as_str().unwrap() {
            "response.created" | "response.in_progress" => {
                assert!(items.is_empty() && event["response"]["output"] == json!([]), "{event}");
                assert_eq!(event["response"]["status"], "in_progress");
                let known = id.get_or_insert_with(|| event["response"]["id"].clone());
                assert_eq!(*known, event["response"]["id"]);
            }
            "response.output_item.added" => {
                assert_eq!(event["output_index"], items.len());
                assert!(items.iter().all(|item| item.id != event["item"]["id"]), "{event}");
                items.push(StrictItem::new(&event["item"]));
            }
            name @ ("response.completed" | "response.incomplete") => {
                let response = &event["response"];
                assert_eq!((number + 1, Some(&response["id"])), (events.len(), id.as_ref()));
                assert_eq!(response["status"], name.strip_prefix("response.").unwrap());
                let done: Vec<Value> = items.iter().map(|item| item.done.clone().unwrap()).collect();
                assert_eq!(response["output"], json!(done));
                return response.clone();
            }
            _ => {
                let index = usize::try_from(event["output_index"].as_u64().unwrap()).unwrap();
                items[index].read(event);
            }
        }
    }
    panic!("the stream has no end");
}

/// An item as a strict client reads it.
struct StrictItem {
    id: Value,
    content: Vec<StrictPart>,
    summary: Vec<StrictPart>,
    arguments: String,
    are_arguments_done: bool,
    done: Option<Value>,
}

#[derive(Default)]
struct StrictPart {
    text: String,
    is_text_done: bool,
    is_done: bool,
}

impl StrictItem {
    fn new(item: &Value) -> Self {
        assert!(item["id"].as_str().is_some_and(|id| !id.is_empty()), "{item}");
        for key in ["content", "summary"] {
            assert!(item[key].as_array().is_none_or(Vec::is_empty), "{item}");
        }
        Self {
            id: item["id"].clone(),
            content: Vec::new(),
            summary: Vec::new(),
            arguments: String::new(),
            are_arguments_done: false,
            done: None,
        }
    }

    fn read(&mut self, event: &Value) {
        assert!(self.done.is_none(), "{event}");
        let name = event["type"].as_str().unwrap();
        if name == "response.output_item.done" {
            return self.end(&event["item"]);
        }
        assert_eq!(event["item_id"], self.id, "{event}");
        if name.contains("_arguments.") || name.contains("_input.") {
            assert!(!self.are_arguments_done);
            match event["delta"].as_str() {
                Some(delta) => self.arguments.push_str(delta),
                None => {
                    assert!(event["arguments"] == *self.arguments || event["input"] == *self.arguments, "{event}");
                    self.are_arguments_done = true;
                }
            }
            return;
        }
        let (parts, index) = match event.get("summary_index") {
            Some(index) => (&mut self.summary, index),
            None => (&mut self.content, &event["content_index"]),
        };
        let index = usize::try_from(index.as_u64().unwrap()).unwrap();
        if name.ends_with("_part.added") {
            assert_eq!(index, parts.len());
            return parts.push(StrictPart::default());
        }
        let part = &mut parts[index];
        assert!(!part.is_done, "{event}");
        if name.ends_with("_part.done") {
            assert!(text_of(&event["part"]).is_none_or(|text| part.is_text_done && text == part.text), "{event}");
            part.is_done = true;
        } else if name.ends_with(".delta") {
            assert!(!part.is_text_done, "{event}");
            part.text.push_str(event["delta"].as_str().unwrap());
        } else if name.ends_with(".done") {
            assert_eq!(text_of(event), Some(part.text.as_str()));
            part.is_text_done = true;
        }
    }

    fn end(&mut self, item: &Value) {
        assert_eq!(item["id"], self.id);
        assert!(self.content.iter().chain(&self.summary).all(|part| part.is_done), "{item}");
        for (key, parts) in [("content", &self.content), ("summary", &self.summary)] {
            let finals = item[key].as_array().map(Vec::as_slice).unwrap_or_default();
            assert_eq!(finals.len(), parts.len(), "{item}");
            assert!(finals.iter().zip(parts).all(|(part, own)| text_of(part).is_none_or(|text| text == own.text)));
        }
        let arguments = item["arguments"].as_str().or_else(|| item["input"].as_str());
        let is_call = matches!(item["type"].as_str(), Some("function_call" | "custom_tool_call"));
        assert!(!is_call || self.are_arguments_done && arguments == Some(self.arguments.as_str()), "{item}");
        assert_ne!(item["status"], "in_progress");
        self.done = Some(item.clone());
    }
}

fn text_of(part: &Value) -> Option<&str> {
    part["text"].as_str().or_else(|| part["refusal"].as_str())
}
