//! Response to a chat request: the message of a completion, or of an assembled stream.

use serde_json::{Value, json};

use super::client::HttpAnswer;

/// First choice of a response.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ClientAnswer {
    /// Text; empty if there is none.
    pub(super) text: String,
    /// Calls for the client to run.
    pub(super) calls: Vec<ClientCall>,
    /// Number of stream events; zero for a response without streaming.
    pub(super) events: usize,
}

/// Call for the client to run.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct ClientCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

impl ClientAnswer {
    /// Parses a response; the error contains the status or the reason.
    pub(super) fn parse(answer: &HttpAnswer) -> Result<Self, String> {
        let text = answer.text();
        if !answer.status.is_success() {
            return Err(format!("status {}: {}", answer.status.as_u16(), text.trim()));
        }
        let streamed = answer.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
        if streamed { Self::read_stream(&text) } else { Self::read_completion(&text) }
    }

    /// Returns the message for the further conversation.
    pub(super) fn to_message(&self) -> Value {
        let mut message = json!({ "role": "assistant", "content": self.text });
        if !self.calls.is_empty() {
            let calls = self.calls.iter().map(|call| {
                json!({
                    "id": call.id,
                    "type": "function",
                    "function": { "name": call.name, "arguments": call.arguments },
                })
            });
            message["tool_calls"] = calls.collect();
        }
        message
    }

    fn read_completion(text: &str) -> Result<Self, String> {
        let completion: Value = serde_json::from_str(text).map_err(|error| format!("no JSON: {error}"))?;
        let message = completion.pointer("/choices/0/message").ok_or("no choice in the answer")?;
        let mut answer = Self { text: member(message, "content"), ..Self::default() };
        for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            answer.add(answer.calls.len(), call);
        }
        Ok(answer)
    }

    fn read_stream(text: &str) -> Result<Self, String> {
        let mut answer = Self::default();
        for data in text.lines().filter_map(|line| line.strip_prefix("data: ")) {
            answer.events += 1;
            if data == "[DONE]" {
                return Ok(answer);
            }
            let chunk: Value = serde_json::from_str(data).map_err(|error| format!("no JSON in the stream: {error}"))?;
            if let Some(error) = chunk.get("error") {
                return Err(format!("the stream broke: {error}"));
            }
            let Some(delta) = chunk.pointer("/choices/0/delta") else { continue };
            answer.text.push_str(&member(delta, "content"));
            for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
                let index = call.get("index").and_then(Value::as_u64).and_then(|index| usize::try_from(index).ok());
                answer.add(index.ok_or("a call of the stream has no index")?, call);
            }
        }
        Err("the stream ended without [DONE]".to_owned())
    }

    /// Adds a call, or another fragment of one. Indexes are consecutive; a fragment with a skipped index is dropped.
    fn add(&mut self, index: usize, piece: &Value) {
        if index >= self.calls.len() {
            self.calls.push(ClientCall::default());
        }
        let Some(call) = self.calls.get_mut(index) else { return };
        call.id.push_str(&member(piece, "id"));
        if let Some(function) = piece.get("function") {
            call.name.push_str(&member(function, "name"));
            call.arguments.push_str(&member(function, "arguments"));
        }
    }
}

fn member(object: &Value, name: &str) -> String {
    object.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderMap, HeaderValue, StatusCode};

    use super::*;

    fn answer(status: u16, content_type: &'static str, body: &str) -> HttpAnswer {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static(content_type));
        HttpAnswer {
            status: StatusCode::from_u16(status).unwrap(),
            headers,
            chunks: vec![Bytes::copy_from_slice(body.as_bytes())],
        }
    }

    #[test]
    fn a_stream_and_a_whole_answer_are_equal() {
        let whole = r#"{"choices":[{"message":{"content":"Let me see.","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]}}]}"#;
        let stream = concat!(
            ": ping\n",
            "data: {\"choices\":[{\"delta\":{\"content\":\"Let me \"}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{\"content\":\"see.\"}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\"\"}}]}}]}\n\n",
            "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\":1}\"}}]}}]}\n\n",
            "data: {\"choices\":[]}\n\n",
            "data: [DONE]\n\n",
        );
        let whole = ClientAnswer::parse(&answer(200, "application/json", whole)).unwrap();
        let streamed = ClientAnswer::parse(&answer(200, "text/event-stream; charset=utf-8", stream)).unwrap();
        assert_eq!(streamed.events, 6);
        assert_eq!(ClientAnswer { events: 0, ..streamed }, whole);
        assert_eq!(whole.to_message()["tool_calls"][0]["function"]["arguments"], r#"{"x":1}"#);
    }

    #[test]
    fn an_invalid_answer_has_a_reason() {
        let cases = [
            (502, "application/json", "{}", "status 502"),
            (200, "application/json", "[", "no JSON"),
            (200, "application/json", "{}", "no choice"),
            (200, "text/event-stream", "data: {\"error\":{\"message\":\"gone\"}}\n\n", "gone"),
            (200, "text/event-stream", "data: {}\n\n", "without [DONE]"),
        ];
        for (status, content_type, body, reason) in cases {
            let error = ClientAnswer::parse(&answer(status, content_type, body)).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }
}
