//! Well-formed events of a streamed completion.

use bytes::{BufMut, Bytes, BytesMut};
use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::fields::{object, present};
use super::{AssistantMessage, StreamHead};
use callwright_common::json::{RawObject, raw};
use callwright_types::{Call, Usage};

/// Event that ends a stream.
pub const DONE: &[u8] = b"data: [DONE]\n\n";

/// Keep-alive for an idle connection: a comment line without a blank line, which some parsers would treat as an empty
/// event.
pub const KEEP_ALIVE: &[u8] = b": ping\n";

/// Writes `data` as one event: a `data:` line for each of its lines, and a blank line (WHATWG HTML, section 9.2.6).
pub fn event(data: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(data.len() + 16);
    for line in data.split(|byte| *byte == b'\n') {
        out.put_slice(b"data: ");
        out.put_slice(line.strip_suffix(b"\r").unwrap_or(line));
        out.put_u8(b'\n');
    }
    out.put_u8(b'\n');
    out.freeze()
}

/// Returns the first delta of a choice.
pub fn role(head: &StreamHead, index: u32) -> Bytes {
    delta(head, index, &[("role", raw("assistant")), ("content", raw(""))])
}

/// Returns an event with members of a message that are neither role, text nor calls; `None` if there are none.
pub fn members(head: &StreamHead, index: u32, members: &RawObject) -> Option<Bytes> {
    let members: Vec<(&str, Box<RawValue>)> = members.iter().map(|(key, value)| (key, value.to_owned())).collect();
    (!members.is_empty()).then(|| delta(head, index, &members))
}

/// Returns an event with a piece of text.
pub fn text(head: &StreamHead, index: u32, text: &str) -> Bytes {
    delta(head, index, &[("content", raw(text))])
}

/// Returns the events of a message's calls, including unjudged ones, with their unknown members (such as signatures): per
/// call a delta with index, id and name, and one with the arguments. In the legacy form there is one `function_call`, the
/// first.
pub fn message_calls(head: &StreamHead, index: u32, message: &AssistantMessage) -> Vec<Bytes> {
    if message.is_legacy() {
        return message.calls().first().map(|call| legacy_call(head, index, call)).unwrap_or_default();
    }
    let elements = message.chat().map(|message| message.call_objects()).unwrap_or_default().into_iter().enumerate();
    elements.flat_map(|(at, element)| tool_call(head, index, at, element)).collect()
}

/// Returns an event with elements of `tool_calls`, which have an index.
pub fn call_pieces(head: &StreamHead, index: u32, elements: &[RawObject]) -> Bytes {
    delta(head, index, &[("tool_calls", raw(elements))])
}

/// Returns the finish chunk of a choice.
pub fn finish(head: &StreamHead, index: u32, reason: &str) -> Bytes {
    chunk_event(head, &[choice(index, &[], Some(reason))], &[])
}

/// Returns the usage chunk.
pub fn usage(head: &StreamHead, usage: Usage) -> Bytes {
    chunk_event(head, &[], &[("usage", raw(&usage))])
}

/// Returns a chunk without choices that contains the debug object.
pub fn debug(head: &StreamHead, debug: &Value) -> Bytes {
    chunk_event(head, &[], &[("callwright", raw(debug))])
}

/// Returns an error response as an event, for a stream whose status is already sent: `error` of the upstream with the
/// members `status`, `code` and, if the upstream requests a delay, `retry_after` in seconds. OpenAI's clients show
/// `code`.
pub fn late_error(body: &[u8], status: StatusCode, headers: &HeaderMap) -> Bytes {
    data(&object([("error", late_error_members(body, status, headers).to_raw())]))
}

/// Returns the members of the error of [`late_error`].
pub(crate) fn late_error_members(body: &[u8], status: StatusCode, headers: &HeaderMap) -> RawObject {
    let given = std::str::from_utf8(body).unwrap_or_default();
    let given: Option<RawObject> = RawObject::parse(given).ok();
    let mut error: RawObject = given.and_then(|body| body.get_as("error")).unwrap_or_else(|| {
        object([
            ("message", raw(&format!("the upstream answered with status {status}"))),
            ("type", raw("upstream_error")),
        ])
    });
    if present(error.get("code")).is_none() {
        error.set("code", raw(code_of(status)));
    }
    error.set("status", raw(&status.as_u16()));
    if let Some(wait) = retry_after(headers) {
        error.set("retry_after", raw(&wait));
    }
    error
}

/// Returns the delay that an upstream requests, in seconds.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<u64> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()
}

/// Returns OpenAI's error code for this status, for bodies without a code (API reference, "Error codes").
pub(crate) fn code_of(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "invalid_api_key",
        StatusCode::FORBIDDEN => "permission_denied",
        StatusCode::NOT_FOUND => "not_found",
        StatusCode::REQUEST_TIMEOUT => "timeout",
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_exceeded",
        status if status.is_client_error() => "invalid_request",
        _ => "server_error",
    }
}

/// Returns the events of one call: its head, then its arguments, as OpenAI streams them. Some clients treat an
/// element with an id as a new call and read arguments only from elements without one.
fn tool_call(head: &StreamHead, index: u32, call_index: usize, mut element: RawObject) -> Vec<Bytes> {
    element.remove("index");
    let mut first = object([("index", raw(&call_index))]);
    let arguments = take_arguments(&mut element);
    for (key, value) in element.iter() {
        first.set(key, value.to_owned());
    }
    let mut events = vec![delta(head, index, &[("tool_calls", raw(&[first]))])];
    if let Some(arguments) = arguments {
        let function = object([("arguments", arguments)]).to_raw();
        let rest = object([("index", raw(&call_index)), ("function", function)]);
        events.push(delta(head, index, &[("tool_calls", raw(&[rest]))]));
    }
    events
}

/// Removes and returns the arguments of a function call; `None` if there are none to send.
fn take_arguments(element: &mut RawObject) -> Option<Box<RawValue>> {
    let mut function: RawObject = element.get_as("function")?;
    let arguments = function.get("arguments")?.to_owned();
    function.set("arguments", raw(""));
    element.set("function", function.to_raw());
    (arguments.get() != "\"\"").then_some(arguments)
}

fn legacy_call(head: &StreamHead, index: u32, call: &Call) -> Vec<Bytes> {
    let name = object([("name", raw(&call.name)), ("arguments", raw(""))]);
    let arguments = object([("arguments", raw(&call.arguments))]);
    [name, arguments].iter().map(|piece| delta(head, index, &[("function_call", piece.to_raw())])).collect()
}

type DeltaMembers<'a> = &'a [(&'a str, Box<RawValue>)];

fn delta(head: &StreamHead, index: u32, members: DeltaMembers<'_>) -> Bytes {
    chunk_event(head, &[choice(index, members, None)], &[])
}

fn choice(index: u32, delta: DeltaMembers<'_>, finish_reason: Option<&str>) -> RawObject {
    let delta: RawObject = delta.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    object([
        ("index", raw(&index)),
        ("delta", delta.to_raw()),
        ("logprobs", raw(&())),
        ("finish_reason", raw(&finish_reason)),
    ])
}

fn chunk_event(head: &StreamHead, choices: &[RawObject], members: DeltaMembers<'_>) -> Bytes {
    let mut chunk = object([
        ("id", raw(&head.id)),
        ("object", raw("chat.completion.chunk")),
        ("created", raw(&head.created)),
        ("model", raw(&head.model)),
    ]);
    for (key, value) in head.extra.iter() {
        chunk.set(key, value.to_owned());
    }
    chunk.set("choices", raw(choices));
    for (key, value) in members {
        chunk.set(key, value.clone());
    }
    data(&chunk)
}

fn data<T: Serialize>(value: &T) -> Bytes {
    format!("data: {}\n\n", raw(value)).into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Completion, ErrorBody};

    fn head() -> StreamHead {
        let extra = RawObject::parse(r#"{"system_fingerprint":"fp"}"#).unwrap();
        StreamHead { id: "c".into(), model: "m".into(), created: 7, extra }
    }

    fn value(event: &Bytes) -> Value {
        let text = std::str::from_utf8(event).unwrap();
        serde_json::from_str(text.strip_prefix("data: ").unwrap().strip_suffix("\n\n").unwrap()).unwrap()
    }

    fn call(id: &str) -> Call {
        Call { id: id.into(), name: "f".into(), arguments: "{\"a\":1}".into() }
    }

    #[test]
    fn every_chunk_has_the_head_and_one_choice() {
        assert_eq!(
            text(&head(), 1, "a\nb"),
            concat!(
                r#"data: {"id":"c","object":"chat.completion.chunk","created":7,"model":"m","system_fingerprint":"fp","#,
                r#""choices":[{"index":1,"delta":{"content":"a\nb"},"logprobs":null,"finish_reason":null}]}"#,
                "\n\n"
            )
        );
        assert_eq!(value(&role(&head(), 0))["choices"][0]["delta"], json!({"role": "assistant", "content": ""}));
        let finish = value(&finish(&head(), 0, "stop"));
        assert_eq!(
            (&finish["choices"][0]["delta"], &finish["choices"][0]["finish_reason"]),
            (&json!({}), &json!("stop"))
        );
    }

    fn deltas(calls: &[Call], legacy: bool) -> Vec<Value> {
        let mut completion = Completion::of_text(callwright_types::Protocol::Chat, "m", "");
        completion.choices_mut()[0].rescue("", calls, legacy);
        let events = message_calls(&head(), 0, &completion.choices()[0].message);
        events.iter().map(|event| value(event)["choices"][0]["delta"].clone()).collect()
    }

    #[test]
    fn calls_have_id_and_name_once_and_then_their_arguments() {
        assert_eq!(
            deltas(&[call("a"), call("b")], false),
            [
                json!({"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}]}),
                json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"a\":1}"}}]}),
                json!({"tool_calls": [{"index": 1, "id": "b", "type": "function", "function": {"name": "f", "arguments": ""}}]}),
                json!({"tool_calls": [{"index": 1, "function": {"arguments": "{\"a\":1}"}}]}),
            ]
        );
    }

    #[test]
    fn a_legacy_call_goes_out_in_the_legacy_form() {
        let pieces = [json!({"name": "f", "arguments": ""}), json!({"arguments": "{\"a\":1}"})];
        assert_eq!(deltas(&[call("a"), call("b")], true), pieces.map(|piece| json!({"function_call": piece})));
        assert!(deltas(&[], true).is_empty());
    }

    #[test]
    fn the_calls_of_a_message_keep_their_unknown_fields() {
        let body = r#"{"choices":[{"message":{"tool_calls":[
            {"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"sig":"s"}},
            {"id":"b","type":"custom","custom":{"name":"sql","input":"x"}}]}}]}"#;
        let completion =
            Completion::parse(callwright_types::Protocol::Chat, Bytes::from_static(body.as_bytes())).unwrap();
        let deltas: Vec<Value> = message_calls(&head(), 0, &completion.choices()[0].message)
            .iter()
            .map(|event| value(event)["choices"][0]["delta"]["tool_calls"][0].clone())
            .collect();
        assert_eq!(
            deltas,
            [
                json!({"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}, "extra_content": {"sig": "s"}}),
                json!({"index": 0, "function": {"arguments": "{}"}}),
                json!({"index": 1, "id": "b", "type": "custom", "custom": {"name": "sql", "input": "x"}}),
            ]
        );
    }

    #[test]
    fn a_late_error_says_its_status_code_and_wait() {
        let late = |body: &[u8], status: u16, headers: &HeaderMap| {
            value(&late_error(body, StatusCode::from_u16(status).unwrap(), headers))["error"].clone()
        };
        let wait = HeaderMap::from_iter([(RETRY_AFTER, "7".parse().unwrap())]);
        assert_eq!(
            late(br#"{"error": {"message": "slow down", "type": "requests", "code": null}}"#, 429, &wait),
            json!({"message": "slow down", "type": "requests", "code": "rate_limit_exceeded", "status": 429, "retry_after": 7})
        );
        let own = late(br#"{"error": {"message": "m", "code": "context_length_exceeded"}}"#, 400, &HeaderMap::new());
        assert_eq!(own, json!({"message": "m", "code": "context_length_exceeded", "status": 400}));
        for body in [&b"<html>"[..], b"\xff", b"[]", br#"{"error": "gone"}"#, b""] {
            let error = late(body, 503, &HeaderMap::new());
            assert_eq!((&error["status"], &error["code"]), (&json!(503), &json!("server_error")));
        }
    }

    #[test]
    fn usage_debug_and_errors_stand_in_events_of_their_own() {
        let usage =
            value(&usage(&head(), Usage { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3, cached_tokens: 0 }));
        assert_eq!((&usage["choices"], &usage["usage"]["total_tokens"]), (&json!([]), &json!(3)));
        assert_eq!(value(&debug(&head(), &json!({"a": 1})))["callwright"], json!({"a": 1}));
        let body = ErrorBody { message: "m".into(), kind: "upstream_error".into(), param: None, code: None };
        assert_eq!(
            value(&late_error(&body.to_bytes(), StatusCode::BAD_GATEWAY, &HeaderMap::new()))["error"]["type"],
            "upstream_error"
        );
    }

    #[test]
    fn each_line_of_the_data_is_a_line_of_the_event() {
        assert_eq!(event(b"{\"a\":\r\n1}").as_ref(), b"data: {\"a\":\ndata: 1}\n\n");
    }
}
