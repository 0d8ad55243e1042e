//! The events that the writer adds.

use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};

use super::*;

fn error(client: &[u8], body: &[u8], status: StatusCode, headers: &HeaderMap) -> Value {
    let mut writer = ResponsesWriter::default();
    sse_events(client).iter().for_each(|event| writer.forwarded(event));
    let mut out = BytesMut::new();
    writer.error(body, status, headers, &mut out);
    assert!(out.starts_with(b"event: error\ndata: {\"type\":\"error\",\"sequence_number\":"));
    values(&out).remove(0)
}

#[test]
fn a_whole_answer_has_the_documented_events() {
    let output = [
        json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm"}], "encrypted_content": "g"}),
        message("msg_1", &["Hi"]),
        function_call("fc_1", "call_1", "{}"),
    ];
    let events = values(&rest(b"", &answer(&output), true));
    let names: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "response.created", "response.in_progress", "response.output_item.added",
            "response.reasoning_summary_part.added", "response.reasoning_summary_text.delta",
            "response.reasoning_summary_text.done", "response.reasoning_summary_part.done",
            "response.output_item.done", "response.output_item.added", "response.content_part.added",
            "response.output_text.delta", "response.output_text.done", "response.content_part.done",
            "response.output_item.done", "response.output_item.added", "response.function_call_arguments.delta",
            "response.function_call_arguments.done", "response.output_item.done", "response.completed",
        ]
    );
    assert_eq!(events[0]["response"]["usage"], Value::Null);
    assert_eq!(events[2]["item"], json!({"type": "reasoning", "id": "rs_1", "summary": []}));
    assert_eq!(events[9]["part"], text_part(""));
    assert_eq!((&events[14]["item"]["status"], &events[14]["item"]["arguments"]), (&json!("in_progress"), &json!("")));
    assert_eq!(
        events[17],
        json!({"type": "response.output_item.done", "sequence_number": 17, "output_index": 2, "item": output[2]})
    );
}

// BerriAI/litellm issue 26167.
#[test]
fn the_id_of_the_response_stays_that_of_the_first_event() {
    let first =
        answer_with(&[message("msg_1", &["One. "])], &json!({"id": "resp_68a9", "created_at": 1, "model": "m-1"}));
    let events = values(&rest(b"", &first, true));
    let client = stream_of(&events[..5]);
    let mut second =
        answer_with(&[message("msg_2", &["Two."])], &json!({"id": "resp_other", "created_at": 2, "model": "m-2"}));
    second.set_debug(&json!({"verdict": "clean"}));
    let all = [client.clone(), rest(&client, &second, false)].concat();
    let response = strict_response(&values(&all));
    assert_eq!(
        (&response["id"], &response["created_at"], &response["model"]),
        (&json!("resp_68a9"), &json!(1), &json!("m-1"))
    );
    assert_eq!(response["callwright"]["verdict"], "clean");
    let begun = values(&all).into_iter().filter(|event| event["type"] == "response.created");
    assert!(begun.into_iter().all(|event| event["response"].get("callwright").is_none()));
    assert_eq!(response["output"][0]["status"], "incomplete");
}

#[test]
fn a_repeated_text_is_written_once() {
    let first = answer(&[message("msg_1", &["I look. "])]);
    let client = stream_of(&values(&rest(b"", &first, true))[..8]);
    let calls = function_call("fc_1", "call_1", "{}");
    for (text, expected) in [("I look. ", None), ("I look. Here.", Some("Here.")), ("Look.", Some("Look."))] {
        let second = answer(&[message("msg_1", &[text]), calls.clone()]);
        let all = [client.clone(), rest(&client, &second, false)].concat();
        let response = strict_response(&values(&all));
        let output = response["output"].as_array().unwrap();
        assert_eq!(output.len(), 2 + usize::from(expected.is_some()), "{text}");
        assert_eq!(output[0], message("msg_1", &["I look. "]));
        assert_eq!(output.last(), Some(&calls));
        if let Some(expected) = expected {
            assert_eq!(output[1]["content"][0]["text"], expected);
            assert_ne!(output[1]["id"], "msg_1", "an id is unique");
        }
    }
}

#[test]
fn members_that_a_stream_requires_are_generated_once() {
    let output = [
        json!({"type": "message", "content": "Hi"}),
        json!({"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}", "status": "in_progress"}),
        json!({"type": "later", "x": 1}),
    ];
    let response = strict_response(&values(&rest(b"", &answer(&output), true)));
    let output = response["output"].as_array().unwrap();
    assert_eq!(output[0]["content"][0]["text"], "Hi");
    assert_eq!((&output[0]["role"], &output[0]["status"]), (&json!("assistant"), &json!("completed")));
    assert!(output[1]["id"].as_str().unwrap().starts_with("fc_"));
    assert_eq!((&output[1]["status"], &output[2]["x"]), (&json!("completed"), &json!(1)));
}

#[test]
fn edited_and_generated_answers_are_written() {
    let call = callwright_types::Call { id: "call_1".into(), name: "f".into(), arguments: "{\"a\":1}".into() };
    let calls = Completion::of_calls(Protocol::Responses, "m", std::slice::from_ref(&call));
    let response = strict_response(&values(&rest(b"", &calls, true)));
    assert_eq!((&response["output"][0]["call_id"], &response["status"]), (&json!("call_1"), &json!("completed")));
    let text = Completion::of_text(Protocol::Responses, "m", "Sorry.");
    let response = strict_response(&values(&rest(b"", &text, true)));
    assert_eq!((&response["output"][0]["content"][0]["text"], &response["model"]), (&json!("Sorry."), &json!("m")));
    let mut edited = answer(&[function_call("fc_1", "call_1", "{}")]);
    edited.choices_mut()[0].set_calls(std::slice::from_ref(&call));
    let response = strict_response(&values(&rest(b"", &edited, true)));
    assert_eq!(response["output"][0], function_call("fc_1", "call_1", "{\"a\":1}"));
}

#[test]
fn a_client_that_has_the_end_gets_nothing_more() {
    let whole = answer(&[message("msg_1", &["Hi"])]);
    let client = rest(b"", &whole, true);
    assert!(rest(&client, &whole, true).is_empty());
    assert!(rest(b"data: [DONE]\n\n", &whole, false).is_empty());
    let mut writer = ResponsesWriter::default();
    assert_eq!(writer.stream_id(), None);
    sse_events(&client).iter().for_each(|event| writer.forwarded(event));
    assert!(writer.stream_id().is_some());
}

#[test]
fn an_error_is_one_event_with_status_and_code() {
    let client = stream_of(&values(&rest(b"", &answer(&[]), true))[..2]);
    let wait = HeaderMap::from_iter([(RETRY_AFTER, "7".parse().unwrap())]);
    let body = br#"{"error": {"message": "slow down", "type": "requests", "param": null, "code": null}}"#;
    assert_eq!(
        error(&client, body, StatusCode::TOO_MANY_REQUESTS, &wait),
        json!({"type": "error", "sequence_number": 2, "code": "rate_limit_exceeded", "message": "slow down", "param": null,
            "status": 429, "retry_after": 7})
    );
    let own = br#"{"error": {"message": "m", "code": "context_length_exceeded", "param": "input"}}"#;
    let event = error(b"", own, StatusCode::BAD_REQUEST, &HeaderMap::new());
    assert_eq!((&event["code"], &event["param"]), (&json!("context_length_exceeded"), &json!("input")));
    for body in [&b"<html>"[..], b"\xff", b"{\"error\": 5}", br#"{"error": {"message": 5, "code": 500}}"#] {
        let event = error(b"", body, StatusCode::SERVICE_UNAVAILABLE, &HeaderMap::new());
        assert_eq!((&event["code"], event["message"].is_string()), (&json!("server_error"), true));
    }
}
