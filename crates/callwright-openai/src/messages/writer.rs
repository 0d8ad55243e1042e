//! Events that the client has, and the writer of the others.

use std::borrow::Cow;

use bytes::BytesMut;
use http::{HeaderMap, StatusCode};
use serde_json::value::RawValue;

use super::answer::{MessagesAnswer, STOP_REASON, STOP_SEQUENCE, USAGE, error_type};
use super::blocks::CONTENT;
use super::events::{
    BLOCK_DELTA, BLOCK_START, BLOCK_STOP, ERROR, EventData, MESSAGE_DELTA, MESSAGE_START, MESSAGE_STOP, StreamEvent,
    write_event,
};
use super::written_block::{SentBlock, write_block};
use crate::emit::retry_after;
use crate::fields::{object, present, string};
use crate::parts::{AnswerForm, EventWriter, PartKind};
use crate::{Completion, SseEvent};
use callwright_common::json::{RawObject, raw};

/// Member of the last event with the description of the proxy's work.
const DEBUG: &str = "callwright";

/// Members of an answer that a stream sends in `message_delta.delta` and clients reset if they are missing.
const OPTIONAL_ENDING: [&str; 2] = ["stop_details", "container"];

/// Members of an answer that a stream sends in `message_delta` itself.
const ENDING: [&str; 2] = ["context_management", DEBUG];

/// The events of a stream that the client has.
#[derive(Debug, Clone, Default)]
pub(crate) struct MessagesWriter {
    is_begun: bool,
    has_head: bool,
    /// Number of blocks that were begun.
    blocks: usize,
    /// Index of the next block.
    next_index: u64,
    open: Option<SentBlock>,
    /// Text of the blocks that were ended.
    text: String,
    is_finished: bool,
    is_stopped: bool,
}

impl MessagesWriter {
    fn record(&mut self, event: &StreamEvent<'_>) {
        match event.kind.as_ref() {
            MESSAGE_START => self.has_head = true,
            BLOCK_START => {
                self.end_block();
                let index = event.index().unwrap_or(self.next_index);
                self.open = Some(SentBlock::begun(index, event));
                self.blocks += 1;
                self.next_index = self.next_index.max(index).saturating_add(1);
            }
            BLOCK_DELTA => {
                if let Some(open) = &mut self.open {
                    open.push(event);
                }
            }
            BLOCK_STOP => drop(self.end_block()),
            MESSAGE_DELTA => {
                let delta = event.fields.object("delta");
                self.is_finished |= delta.is_some_and(|delta| delta.string(STOP_REASON).is_some());
            }
            MESSAGE_STOP => self.is_stopped = true,
            _ => {}
        }
    }

    /// Ends the open block and keeps its text.
    fn end_block(&mut self) -> Option<SentBlock> {
        let open = self.open.take()?;
        self.text.push_str(open.text());
        Some(open)
    }

    fn write_blocks(&mut self, parts: &[Box<RawValue>], is_same: bool, out: &mut BytesMut) {
        let sent = if is_same { self.blocks } else { 0 };
        if let Some(open) = self.end_block() {
            if let Some(part) = sent.checked_sub(1).and_then(|last| parts.get(last)) {
                open.write_deltas(part, out);
            }
            open.write_stop(out);
        }
        let mut earlier = if is_same { String::new() } else { std::mem::take(&mut self.text) };
        for part in parts.iter().skip(sent) {
            let Some(part) = without_earlier(part, &mut earlier) else { continue };
            write_block(self.next_index, &part, out);
            self.blocks += 1;
            self.next_index = self.next_index.saturating_add(1);
        }
    }
}

impl EventWriter for MessagesWriter {
    fn forwarded(&mut self, event: &SseEvent) {
        self.is_begun = true;
        if let Ok(EventData::Object(event)) = EventData::read(event) {
            self.record(&event);
        }
    }

    fn is_begun(&self) -> bool {
        self.is_begun
    }

    fn rest(&mut self, answer: &Completion, is_same: bool, out: &mut BytesMut) {
        let Some(answer) = answer.object().filter(|_| !self.is_stopped) else { return };
        if !self.has_head {
            let event = object([("type", raw(MESSAGE_START)), ("message", head(&answer).to_raw())]);
            write_event(MESSAGE_START, &event, out);
        }
        let parts: Vec<Box<RawValue>> = answer.get_as(CONTENT).unwrap_or_default();
        self.write_blocks(&parts, is_same, out);
        if !self.is_finished || answer.contains(DEBUG) {
            write_event(MESSAGE_DELTA, &ending(&answer), out);
        }
        write_event(MESSAGE_STOP, &object([("type", raw(MESSAGE_STOP))]), out);
        (self.is_begun, self.has_head, self.is_finished, self.is_stopped) = (true, true, true, true);
    }

    fn error(&mut self, body: &[u8], status: StatusCode, headers: &HeaderMap, out: &mut BytesMut) {
        write_event(ERROR, &error_event(body, status, headers), out);
        (self.is_begun, self.is_stopped) = (true, true);
    }

    fn boxed_clone(&self) -> Box<dyn EventWriter> {
        Box::new(self.clone())
    }
}

/// Returns a part without the text that the client has of an earlier attempt, if it begins with all of it; `None` if
/// nothing remains. Only the first such part is shortened.
fn without_earlier<'a>(part: &'a RawValue, earlier: &mut String) -> Option<Cow<'a, RawValue>> {
    if !earlier.is_empty()
        && let PartKind::Text(text) = MessagesAnswer.read_part(part)
        && let Some(rest) = text.strip_prefix(earlier.as_str())
    {
        earlier.clear();
        return (!rest.is_empty()).then(|| Cow::Owned(MessagesAnswer.with_text(Some(part), rest)));
    }
    Some(Cow::Borrowed(part))
}

/// Returns the answer as a stream begins it: without blocks, ending and tokens of the answer.
fn head(answer: &RawObject) -> RawObject {
    let mut head = answer.clone();
    let none: [&RawValue; 0] = [];
    head.set(CONTENT, raw(&none));
    head.set(STOP_REASON, raw(&()));
    head.set(STOP_SEQUENCE, raw(&()));
    if head.contains("stop_details") {
        head.set("stop_details", raw(&()));
    }
    head.remove(DEBUG);
    let mut usage: RawObject = answer.get_as(USAGE).unwrap_or_default();
    if !usage.contains("input_tokens") {
        usage.set("input_tokens", raw(&0));
    }
    usage.set("output_tokens", raw(&0));
    head.set(USAGE, usage.to_raw());
    head
}

/// Returns the event with the reason of the end and the token counts. Clients require the tokens of the answer.
fn ending(answer: &RawObject) -> RawObject {
    let mut delta = object([STOP_REASON, STOP_SEQUENCE].map(|key| (key, member(answer, key))));
    for key in OPTIONAL_ENDING {
        if let Some(value) = present(answer.get(key)) {
            delta.set(key, value.to_owned());
        }
    }
    let mut usage: RawObject = answer.get_as(USAGE).unwrap_or_default();
    if !usage.contains("output_tokens") {
        usage.set("output_tokens", raw(&0));
    }
    let mut event = object([("type", raw(MESSAGE_DELTA)), ("delta", delta.to_raw()), (USAGE, usage.to_raw())]);
    for key in ENDING {
        if let Some(value) = answer.get(key) {
            event.set(key, value.to_owned());
        }
    }
    event
}

/// Returns a member, or `null`.
fn member(answer: &RawObject, key: &str) -> Box<RawValue> {
    answer.get(key).map_or_else(|| raw(&()), ToOwned::to_owned)
}

/// Returns an error event with the members of the error in `body`, the status and the delay that the upstream requests.
/// The type of an error in the form of another protocol follows from the status.
fn error_event(body: &[u8], status: StatusCode, headers: &HeaderMap) -> RawObject {
    let body = std::str::from_utf8(body).ok().and_then(|body| RawObject::parse(body).ok()).unwrap_or_default();
    let is_own_form = body.get("type").and_then(string).as_deref() == Some(ERROR);
    let given: RawObject = body.get_as(ERROR).unwrap_or_default();
    let own_kind = given.get("type").filter(|kind| is_own_form && string(kind).is_some());
    let message = given.get("message").filter(|message| string(message).is_some());
    let message = match message {
        Some(message) => message.to_owned(),
        None => raw(&format!("the upstream answered with status {status}")),
    };
    let kind = own_kind.map_or_else(|| raw(error_type(status)), ToOwned::to_owned);
    let others = given.iter().filter(|(key, value)| !is_replaced(key) && value.get() != "null");
    let others = others.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let wait = retry_after(headers).map(|wait| ("retry_after".to_owned(), raw(&wait)));
    let error: RawObject = [("type".to_owned(), kind), ("message".to_owned(), message)]
        .into_iter()
        .chain(others)
        .chain([("status".to_owned(), raw(&status.as_u16()))])
        .chain(wait)
        .collect();
    let mut event = if is_own_form { body } else { object([("type", raw(ERROR))]) };
    event.set(ERROR, error.to_raw());
    event
}

/// Whether a member of an error is stated by the proxy.
fn is_replaced(key: &str) -> bool {
    matches!(key, "type" | "message" | "status" | "retry_after")
}

#[cfg(test)]
mod tests {
    use http::header::RETRY_AFTER;
    use serde_json::{Value, json};

    use super::super::testing::{
        answer, answer_of, call, data, delta, event, events, head, input_delta, rest, start, stop, text_delta,
    };
    use super::*;

    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    fn forwarded(events: &[Value]) -> MessagesWriter {
        let mut writer = MessagesWriter::default();
        events.iter().for_each(|data| writer.forwarded(&event(data)));
        writer
    }

    fn written(writer: &mut MessagesWriter, answer: &Completion, is_same: bool) -> Vec<Value> {
        rest(writer, answer, is_same).iter().map(data).collect()
    }

    fn end() -> [Value; 2] {
        [
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
                "usage": {"input_tokens": 3, "output_tokens": 9}}),
            json!({"type": "message_stop"}),
        ]
    }

    #[test]
    fn a_whole_answer_is_written_as_the_api_streams_it() {
        let citation = json!({"type": "char_location"});
        let found = json!({"type": "web_search_tool_result", "tool_use_id": "s", "content": []});
        let mut called = call("a", "f");
        called["input"] = json!({"x": 1});
        let mut completion = answer(&json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "Hi", "citations": [citation]},
                found, called,
            ],
            "stop_reason": "tool_use", "stop_sequence": null, "stop_details": null,
            "usage": {"input_tokens": 3, "output_tokens": 9}}));
        completion.set_debug(&json!({"verdict": "clean"}));
        let mut writer = MessagesWriter::default();
        assert!(!writer.is_begun());
        let events = rest(&mut writer, &completion, true);
        assert!(writer.is_begun());
        assert!(events.iter().all(|event| {
            let kind = data(event)["type"].as_str().unwrap().to_owned();
            event.raw.starts_with(format!("event: {kind}\ndata: {{").as_bytes())
        }));
        assert_eq!(
            events.iter().map(data).collect::<Vec<_>>(),
            [
                json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
                    "model": "m", "content": [], "stop_reason": null, "stop_sequence": null, "stop_details": null,
                    "usage": {"input_tokens": 3, "output_tokens": 0}}}),
                start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
                delta(0, json!({"type": "thinking_delta", "thinking": "hm"})),
                delta(0, json!({"type": "signature_delta", "signature": "s"})),
                stop(0),
                start(1, json!({"type": "text", "text": "", "citations": []})),
                text_delta(1, "Hi"),
                delta(1, json!({"type": "citations_delta", "citation": citation})),
                stop(1),
                start(2, found),
                stop(2),
                start(3, call("a", "f")),
                input_delta(3, "{\"x\":1}"),
                stop(3),
                json!({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null},
                    "usage": {"input_tokens": 3, "output_tokens": 9}, "callwright": {"verdict": "clean"}}),
                json!({"type": "message_stop"}),
            ]
        );
        assert!(rest(&mut writer, &completion, true).is_empty(), "the stream has ended");
    }

    #[test]
    fn token_counts_are_never_missing() {
        let events = written(&mut MessagesWriter::default(), &answer(&json!({"content": []})), true);
        assert_eq!(events[0]["message"]["usage"], json!({"input_tokens": 0, "output_tokens": 0}));
        assert_eq!(events[1]["usage"], json!({"output_tokens": 0}));
        assert_eq!(events[1]["delta"], json!({"stop_reason": null, "stop_sequence": null}));
    }

    #[test]
    fn open_blocks_of_the_same_attempt_are_completed() {
        let mut input = call("a", "f");
        input["input"] = json!({"x": 1});
        let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
        let begun = |block: Value, piece: Value| forwarded(&[head(), start(0, block), delta(0, piece)]);
        let empty = json!({"type": "thinking", "thinking": "", "signature": ""});
        for (mut writer, block, deltas) in [
            (begun(text(""), json!({"type": "text_delta", "text": "H"})), text("Hi"), vec![text_delta(0, "i")]),
            (begun(text(""), json!({"type": "text_delta", "text": "Hi"})), text("Hi"), vec![]),
            (begun(text(""), json!({"type": "text_delta", "text": "Other"})), text("Hi"), vec![]),
            (
                begun(empty.clone(), json!({"type": "thinking_delta", "thinking": "h"})),
                thinking.clone(),
                vec![
                    delta(0, json!({"type": "thinking_delta", "thinking": "m"})),
                    delta(0, json!({"type": "signature_delta", "signature": "s"})),
                ],
            ),
            (
                begun(call("a", "f"), json!({"type": "input_json_delta", "partial_json": " {\"x\""})),
                input,
                vec![input_delta(0, ":1}")],
            ),
        ] {
            let mut expected = deltas;
            expected.push(stop(0));
            expected.extend(end());
            assert_eq!(written(&mut writer, &answer_of(&json!([block])), true), expected);
        }
    }

    #[test]
    fn another_attempt_follows_the_blocks_that_the_client_has() {
        let head_and_text = [head(), start(0, text("")), text_delta(0, "Hel")];
        let thinking = json!({"type": "thinking", "thinking": "", "signature": ""});
        let begun = [head(), start(0, thinking.clone()), delta(0, json!({"type": "thinking_delta", "thinking": "h"}))];
        let expected = |events: Vec<Value>| events.into_iter().chain(end()).collect::<Vec<_>>();
        assert_eq!(
            written(&mut forwarded(&head_and_text), &answer_of(&json!([text("Hello"), text("Hello")])), false),
            expected(vec![
                stop(0),
                start(1, text("")),
                text_delta(1, "lo"),
                stop(1),
                start(2, text("")),
                text_delta(2, "Hello"),
                stop(2)
            ])
        );
        assert_eq!(
            written(&mut forwarded(&head_and_text), &answer_of(&json!([text("Hel"), call("a", "f")])), false),
            expected(vec![stop(0), start(1, call("a", "f")), input_delta(1, "{}"), stop(1)])
        );
        assert_eq!(
            written(&mut forwarded(&begun), &answer_of(&json!([text("Hi")])), false),
            expected(vec![stop(0), start(1, text("")), text_delta(1, "Hi"), stop(1)])
        );
    }

    #[test]
    fn a_known_end_is_only_repeated_for_the_debug_object() {
        let known = [head(), end()[0].clone()];
        let mut completion = answer_of(&json!([]));
        assert_eq!(written(&mut forwarded(&known), &completion, true), [end()[1].clone()]);
        completion.set_debug(&json!({}));
        assert_eq!(written(&mut forwarded(&known), &completion, true)[0]["callwright"], json!({}));
        let all = [head(), end()[0].clone(), end()[1].clone()];
        assert!(written(&mut forwarded(&all), &completion, true).is_empty());
    }

    #[test]
    fn line_ends_between_values_do_not_split_an_event() {
        let body = "{\"content\":[{\"type\":\"future\",\r\n \"x\":\"a\\n\"\r}],\n\"stop_reason\":\"end_turn\"}";
        let completion = Completion::parse(callwright_types::Protocol::Messages, body.into()).unwrap();
        let events = written(&mut MessagesWriter::default(), &completion, true);
        assert_eq!(events[1]["content_block"], json!({"type": "future", "x": "a\n"}));
        assert_eq!(events.len(), 5);
    }

    fn late_error(body: &[u8], status: u16, headers: &HeaderMap) -> Value {
        let (mut writer, mut out) = (MessagesWriter::default(), BytesMut::new());
        writer.error(body, StatusCode::from_u16(status).unwrap(), headers, &mut out);
        assert!(out.starts_with(b"event: error\n"));
        data(&events(&out)[0])
    }

    #[test]
    fn an_error_event_has_the_form_of_this_protocol() {
        let wait = HeaderMap::from_iter([(RETRY_AFTER, "7".parse().unwrap())]);
        assert_eq!(
            late_error(
                br#"{"type":"error","error":{"type":"rate_limit_error","message":"slow"},"request_id":"req_1"}"#,
                429,
                &wait
            ),
            json!({"type": "error", "request_id": "req_1",
                "error": {"type": "rate_limit_error", "message": "slow", "status": 429, "retry_after": 7}})
        );
        assert_eq!(
            late_error(
                br#"{"error":{"message":"m","type":"upstream_error","param":null,"code":"c"}}"#,
                502,
                &HeaderMap::new()
            ),
            json!({"type": "error", "error": {"type": "api_error", "message": "m", "code": "c", "status": 502}})
        );
        for body in [&b"<html>"[..], b"\xff", b"[]", br#"{"error":"gone"}"#, b""] {
            let error = late_error(body, 529, &HeaderMap::new());
            assert_eq!((&error["type"], &error["error"]["type"]), (&json!("error"), &json!("overloaded_error")));
        }
    }

    #[test]
    fn a_copy_is_independent() {
        let writer = forwarded(&[head(), start(0, text("")), text_delta(0, "a")]);
        let mut copy = writer.boxed_clone();
        assert!(copy.is_begun());
        let completion = answer_of(&json!([text("ab")]));
        assert_eq!(rest(copy.as_mut(), &completion, true).len(), 4);
        assert_eq!(written(&mut writer.clone(), &completion, true).len(), 4);
    }
}
