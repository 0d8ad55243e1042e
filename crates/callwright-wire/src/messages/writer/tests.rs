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
    let events = rest(&mut writer, &completion, true);
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
fn a_known_end_is_only_repeated_if_something_is_missing() {
    let known = [head(), end()[0].clone()];
    let mut completion = answer_of(&json!([]));
    assert_eq!(written(&mut forwarded(&known), &completion, true), [end()[1].clone()]);
    completion.set_debug(&json!({}));
    assert_eq!(written(&mut forwarded(&known), &completion, true)[0]["callwright"], json!({}));
    let corrected = answer(&json!({"content": [], "stop_reason": "max_tokens"}));
    let expected = json!({"stop_reason": "max_tokens", "stop_sequence": null});
    assert_eq!(written(&mut forwarded(&known), &corrected, true)[0]["delta"], expected);
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
