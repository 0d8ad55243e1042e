//! Answer as a chat completion, either complete or as the chunks of a stream.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::request::ScriptedRequest;
use callwright_common::tokens::BYTES_PER_TOKEN;

/// `created` of every answer: answers depend on the request only, not on a clock.
pub(super) const CREATED: i64 = 1_767_225_600;

/// Bytes of arguments in one delta, so that clients must assemble several.
const ARGUMENT_PIECE_BYTES: usize = 24;

/// Answer of the model.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ScriptedAnswer {
    /// Text; empty if the answer only has calls.
    pub(super) text: String,
    /// Calls: name and arguments.
    pub(super) calls: Vec<(String, Map<String, Value>)>,
    /// Number of messages in the conversation; ids are derived from it.
    pub(super) position: usize,
}

impl ScriptedAnswer {
    /// Returns nine alphanumerics: unique in the conversation, because every answer lengthens it.
    fn call_id(&self, index: usize) -> String {
        format!("call{:03}{index:02}", self.position)
    }

    fn id(&self) -> String {
        format!("chatcmpl-scripted-{}", self.position)
    }

    fn finish_reason(&self) -> &'static str {
        if self.calls.is_empty() { "stop" } else { "tool_calls" }
    }

    fn usage(&self, request: &ScriptedRequest) -> Value {
        let prompt: usize = request.messages.iter().map(|message| message.text().len()).sum();
        let calls: usize = self.calls.iter().map(|(name, arguments)| name.len() + as_text(arguments).len()).sum();
        let (prompt, completion) =
            (prompt.div_ceil(BYTES_PER_TOKEN), (self.text.len() + calls).div_ceil(BYTES_PER_TOKEN));
        json!({ "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion })
    }
}

/// Returns the answer as one `chat.completion`.
pub(super) fn completion(request: &ScriptedRequest, answer: &ScriptedAnswer) -> Value {
    let mut message = json!({ "role": "assistant", "content": (!answer.text.is_empty()).then_some(&answer.text) });
    if !answer.calls.is_empty() {
        let calls = answer.calls.iter().enumerate().map(|(index, (name, arguments))| {
            json!({
                "id": answer.call_id(index),
                "type": "function",
                "function": { "name": name, "arguments": as_text(arguments) },
            })
        });
        message["tool_calls"] = calls.collect();
    }
    json!({
        "id": answer.id(),
        "object": "chat.completion",
        "created": CREATED,
        "model": request.model,
        "choices": [{ "index": 0, "message": message, "finish_reason": answer.finish_reason() }],
        "usage": answer.usage(request),
    })
}

/// Returns the answer as the events of a stream of `chat.completion.chunk`s, `[DONE]` included.
pub(super) fn chunks(request: &ScriptedRequest, answer: &ScriptedAnswer) -> Vec<Bytes> {
    let mut chunks = vec![delta(request, answer, json!({ "role": "assistant", "content": "" }), None)];
    let words = answer.text.split_inclusive(' ').map(|word| json!({ "content": word }));
    let calls = answer.calls.iter().enumerate().flat_map(|(index, (name, arguments))| {
        let head = json!({
            "index": index,
            "id": answer.call_id(index),
            "type": "function",
            "function": { "name": name, "arguments": "" },
        });
        let pieces = pieces(&as_text(arguments))
            .into_iter()
            .map(move |piece| json!({ "index": index, "function": { "arguments": piece } }));
        std::iter::once(head).chain(pieces).map(|call| json!({ "tool_calls": [call] })).collect::<Vec<_>>()
    });
    chunks.extend(words.chain(calls).map(|part| delta(request, answer, part, None)));
    chunks.push(delta(request, answer, json!({}), Some(answer.finish_reason())));
    if request.requests_usage_chunk() {
        chunks.push(chunk(request, answer, &json!([]), &answer.usage(request)));
    }
    chunks.push(Bytes::from_static(b"data: [DONE]\n\n"));
    chunks
}

fn delta(request: &ScriptedRequest, answer: &ScriptedAnswer, delta: Value, finish_reason: Option<&str>) -> Bytes {
    let choice = json!([{ "index": 0, "delta": delta, "finish_reason": finish_reason }]);
    chunk(request, answer, &choice, &Value::Null)
}

fn chunk(request: &ScriptedRequest, answer: &ScriptedAnswer, choices: &Value, usage: &Value) -> Bytes {
    let mut chunk = json!({
        "id": answer.id(),
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": request.model,
        "choices": choices,
    });
    if request.requests_usage_chunk() {
        chunk["usage"] = usage.clone();
    }
    format!("data: {chunk}\n\n").into()
}

/// Cuts a text into pieces of about [`ARGUMENT_PIECE_BYTES`], never inside a character.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for char in text.chars() {
        match pieces.last_mut() {
            Some(piece) if piece.len() < ARGUMENT_PIECE_BYTES => piece.push(char),
            _ => pieces.push(char.to_string()),
        }
    }
    pieces
}

fn as_text(arguments: &Map<String, Value>) -> String {
    // Serialising a map of JSON values cannot fail.
    serde_json::to_string(arguments).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> ScriptedAnswer {
        let arguments = json!({ "city": "Köln", "unit": "celsius", "days": [1, 2, 3] });
        let calls = vec![("getWeather".to_owned(), arguments.as_object().unwrap().clone()); 2];
        ScriptedAnswer { text: "Let me look.".to_owned(), calls, position: 7 }
    }

    fn request(extra: &Value) -> ScriptedRequest {
        let mut body = json!({ "model": "m", "messages": [{ "role": "user", "content": "four" }] });
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        ScriptedRequest::parse(body.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn a_completion_has_distinct_call_ids_and_the_usage() {
        let completion = completion(&request(&json!({})), &answer());
        let calls = completion["choices"][0]["message"]["tool_calls"].as_array().unwrap();
        assert_eq!((calls[0]["id"].as_str(), calls[1]["id"].as_str()), (Some("call00700"), Some("call00701")));
        assert_eq!(completion["choices"][0]["finish_reason"], "tool_calls");
        assert_eq!(completion["usage"]["prompt_tokens"], 1);
    }

    #[test]
    fn the_chunks_of_a_stream_put_together_are_the_completion() {
        let request = request(&json!({ "stream": true, "stream_options": { "include_usage": true } }));
        let events = chunks(&request, &answer());
        assert_eq!(events.last().map(|event| &event[..]), Some(&b"data: [DONE]\n\n"[..]));
        let (mut text, mut arguments, mut usage) = (String::new(), [String::new(), String::new()], Value::Null);
        for event in &events[..events.len() - 1] {
            let chunk: Value = serde_json::from_slice(event.strip_prefix(b"data: ").unwrap()).unwrap();
            if chunk["choices"].as_array().unwrap().is_empty() {
                usage = chunk["usage"].clone();
            }
            let delta = &chunk["choices"][0]["delta"];
            text.push_str(delta["content"].as_str().unwrap_or_default());
            if let Some(call) = delta["tool_calls"].get(0) {
                let piece = call["function"]["arguments"].as_str().unwrap();
                arguments[call["index"].as_u64().unwrap() as usize].push_str(piece);
            }
        }
        assert_eq!(text, "Let me look.");
        assert!(arguments.iter().all(|text| *text == as_text(&answer().calls[0].1)), "{arguments:?}");
        assert_eq!(usage, answer().usage(&request));
    }

    #[test]
    fn the_usage_chunk_is_sent_only_on_request() {
        let events = chunks(&request(&json!({ "stream": true })), &answer());
        assert!(events.iter().all(|event| !event.windows(7).any(|window| window == b"\"usage\"")));
    }
}
