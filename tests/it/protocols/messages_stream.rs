//! Checks a stream of the Messages protocol as strictly as the official clients rely on it, and assembles it.

use serde_json::Value;

/// Checks a whole stream and returns its message, or the `error` event that ended it. Panics if the stream violates a
/// rule: one head and one end, gapless indexes, blocks that are begun and ended once, deltas of their block's kind.
pub(super) fn assembled(events: &[Value]) -> Value {
    let mut stream = CheckedStream::default();
    for event in events {
        stream.take(event);
    }
    if let Some(error) = stream.error {
        return error;
    }
    assert!(stream.stopped, "a stream without an end: {events:#?}");
    stream.message.unwrap()
}

/// Checks an error body or event.
pub(super) fn check_error(body: &Value) {
    assert_eq!(body["type"], "error", "{body}");
    let error = &body["error"];
    assert!(error["type"].is_string(), "{body}");
    assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{body}");
}

#[derive(Default)]
struct CheckedStream {
    message: Option<Value>,
    open: Option<OpenBlock>,
    /// Whether the stop reason is known.
    ended: bool,
    stopped: bool,
    error: Option<Value>,
}

/// The block that is being streamed.
struct OpenBlock {
    block: Value,
    /// JSON text of the input.
    input: String,
}

impl CheckedStream {
    fn take(&mut self, event: &Value) {
        assert!(!self.stopped && self.error.is_none(), "behind the end: {event}");
        match event["type"].as_str().unwrap() {
            "message_start" => self.begin(event),
            "ping" => {}
            "error" => {
                check_error(event);
                self.error = Some(event.clone());
            }
            _ if self.message.is_none() => panic!("before the head: {event}"),
            "content_block_start" => self.begin_block(event),
            "content_block_delta" => {
                self.check_index(event);
                let open = self.open.as_mut().unwrap_or_else(|| panic!("no block is open: {event}"));
                open.add(&event["delta"]);
            }
            "content_block_stop" => {
                self.check_index(event);
                let open = self.open.take().unwrap_or_else(|| panic!("no block is open: {event}"));
                self.blocks().push(open.into_block());
            }
            "message_delta" => self.finish(event),
            "message_stop" => {
                assert!(self.ended, "no stop reason: {event}");
                self.stopped = true;
            }
            _ => {}
        }
    }

    fn blocks(&mut self) -> &mut Vec<Value> {
        self.message.as_mut().unwrap()["content"].as_array_mut().unwrap()
    }

    fn begin(&mut self, event: &Value) {
        assert!(self.message.is_none(), "a second head: {event}");
        let message = event["message"].clone();
        assert!(message["id"].is_string() && message["model"].is_string(), "{event}");
        assert_eq!((&message["type"], &message["role"]), (&"message".into(), &"assistant".into()), "{event}");
        assert_eq!(
            (&message["content"], &message["stop_reason"]),
            (&Value::Array(Vec::new()), &Value::Null),
            "{event}"
        );
        assert!(message["usage"]["input_tokens"].is_u64() && message["usage"]["output_tokens"].is_u64(), "{event}");
        self.message = Some(message);
    }

    fn begin_block(&mut self, event: &Value) {
        assert!(!self.ended, "behind the stop reason: {event}");
        assert!(self.open.is_none(), "the block before it is still open: {event}");
        self.check_index(event);
        let block = event["content_block"].clone();
        match block["type"].as_str().unwrap_or_else(|| panic!("no type: {event}")) {
            "text" => assert_eq!(block["text"], "", "{event}"),
            "thinking" => assert_eq!(block["thinking"], "", "{event}"),
            "tool_use" => {
                assert!(block["id"].is_string() && block["name"].is_string(), "{event}");
                assert_eq!(block["input"], serde_json::json!({}), "{event}");
                let has_id = |other: &Value| other["id"] == block["id"];
                assert!(!self.blocks().iter().any(has_id), "an id twice: {event}");
            }
            _ => {}
        }
        self.open = Some(OpenBlock { block, input: String::new() });
    }

    fn check_index(&mut self, event: &Value) {
        let next = self.blocks().len();
        assert_eq!(event["index"], next, "not the next index: {event}");
    }

    fn finish(&mut self, event: &Value) {
        assert!(self.open.is_none(), "a block is still open: {event}");
        assert!(!self.ended, "a second stop reason: {event}");
        assert!(event["delta"]["stop_reason"].is_string(), "{event}");
        assert!(event["usage"]["output_tokens"].is_u64(), "{event}");
        self.ended = true;
        let message = self.message.as_mut().unwrap();
        for member in ["delta", "usage"] {
            for (key, value) in event[member].as_object().unwrap() {
                let target = if member == "delta" { &mut *message } else { &mut message["usage"] };
                target[key] = value.clone();
            }
        }
    }
}

impl OpenBlock {
    fn add(&mut self, delta: &Value) {
        let kind = self.block["type"].as_str().unwrap().to_owned();
        let belongs = |expected: &str| assert_eq!(kind, expected, "a delta of another kind of block: {delta}");
        match delta["type"].as_str().unwrap_or_else(|| panic!("no type: {delta}")) {
            "text_delta" => {
                belongs("text");
                self.append("text", &delta["text"]);
            }
            "thinking_delta" => {
                belongs("thinking");
                self.append("thinking", &delta["thinking"]);
            }
            "signature_delta" => {
                belongs("thinking");
                self.append("signature", &delta["signature"]);
            }
            "input_json_delta" => {
                assert!(kind.ends_with("tool_use"), "a delta of another kind of block: {delta}");
                self.input.push_str(delta["partial_json"].as_str().unwrap());
            }
            "citations_delta" => {
                belongs("text");
                let mut citations = self.block["citations"].as_array().cloned().unwrap_or_default();
                citations.push(delta["citation"].clone());
                self.block["citations"] = Value::Array(citations);
            }
            _ => {}
        }
    }

    fn append(&mut self, member: &str, piece: &Value) {
        let piece = piece.as_str().unwrap_or_else(|| panic!("no text: {piece}"));
        self.block[member] = format!("{}{piece}", self.block[member].as_str().unwrap_or_default()).into();
    }

    fn into_block(mut self) -> Value {
        if !self.input.is_empty() {
            self.block["input"] =
                serde_json::from_str(&self.input).unwrap_or_else(|error| panic!("{error}: {}", self.input));
            assert!(self.block["input"].is_object(), "{}", self.block);
        }
        self.block
    }
}
