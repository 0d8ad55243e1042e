//! Complete answers.

use callwright_types::{Call, Usage};
use http::StatusCode;

use super::*;
use crate::parts::{AnswerForm, PartKind, PartsForm};
use crate::responses::ResponsesAnswer;
use crate::{AnswerError, ErrorBody};
use callwright_common::json::raw;

fn kind(item: &Value) -> PartKind {
    ResponsesAnswer.read_part(&raw(item))
}

fn parse(text: &str) -> Result<Completion, AnswerError> {
    Completion::parse(Protocol::Responses, Bytes::copy_from_slice(text.as_bytes()))
}

#[test]
fn items_are_read_by_their_kind() {
    let texts = json!([text_part("a"), {"type": "refusal", "refusal": "r"}, text_part("b")]);
    assert_eq!(kind(&json!({"type": "message", "content": texts})), PartKind::Text("ab".into()));
    assert_eq!(kind(&json!({"role": "assistant", "content": "ab"})), PartKind::Text("ab".into()));
    assert_eq!(kind(&json!({"type": "message", "content": []})), PartKind::Text(String::new()));
    let refusal = json!([{"type": "refusal", "refusal": "No."}]);
    assert_eq!(kind(&json!({"type": "message", "content": refusal})), PartKind::Refusal("No.".into()));
    assert_eq!(kind(&json!({"type": "message", "content": [{"type": "output_audio"}]})), PartKind::Other);
    let reasoning = json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "a"}],
        "content": [{"type": "reasoning_text", "text": "b"}]});
    assert_eq!(kind(&reasoning), PartKind::Reasoning("a\nb".into()));
    for other in [json!({"type": "web_search_call"}), json!({"type": "compaction"}), json!(5), json!({})] {
        assert_eq!(kind(&other), PartKind::Other, "{other}");
    }
}

#[test]
fn calls_of_functions_are_judged_and_others_are_not() {
    let call = |arguments: &str| Call { id: "a".into(), name: "f".into(), arguments: arguments.into() };
    let item = json!({"type": "function_call", "id": "fc_1", "call_id": "a", "name": "f", "arguments": "{}"});
    assert_eq!(kind(&item), PartKind::Call { call: call("{}"), is_well_formed: true });
    let object = json!({"type": "function_call", "call_id": "a", "name": "f", "arguments": {"x": 1}});
    assert_eq!(kind(&object), PartKind::Call { call: call("{\"x\":1}"), is_well_formed: false });
    for missing in [
        json!({"type": "function_call", "id": "fc_1", "name": "f", "arguments": "{}"}),
        json!({"type": "function_call", "call_id": "a", "arguments": "{}"}),
        json!({"type": "function_call", "call_id": "a", "name": "f"}),
    ] {
        assert!(matches!(kind(&missing), PartKind::Call { is_well_formed: false, .. }), "{missing}");
    }
    let shell = json!({"type": "shell_call", "call_id": "a", "action": {"commands": ["ls"]}});
    let expected = Call { id: "a".into(), name: String::new(), arguments: r#"{"commands":["ls"]}"#.into() };
    assert_eq!(kind(&shell), PartKind::Unjudged(expected));
    let custom = json!({"type": "custom_tool_call", "call_id": "a", "name": "f", "input": "x"});
    assert_eq!(kind(&custom), PartKind::Unjudged(call("x")));
}

#[test]
fn an_unedited_answer_is_the_received_bytes() {
    let text = r#"{ "id":"resp_1","output":[ {"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":"{}"}], "x":1E2,"status":"completed" }"#;
    let mut completion = parse(text).unwrap();
    let calls = completion.choices()[0].message.calls().to_vec();
    completion.choices_mut()[0].set_calls(&calls);
    assert_eq!((completion.to_bytes(), completion.id()), (Bytes::from_static(text.as_bytes()), Some("resp_1")));
    assert_eq!(completion.choices()[0].finish_reason.as_deref(), Some("completed"));
}

#[test]
fn an_edited_call_keeps_its_other_members() {
    let text = r#"{"output":[{"type":"reasoning","id":"rs_1", "summary":[]},{"type":"function_call","id":"fc_1","namespace":"n","call_id":"a","name":"f","arguments":{"x":1}}],"status":"completed"}"#;
    let mut completion = parse(text).unwrap();
    let mut calls = completion.choices()[0].message.calls().to_vec();
    let new = Call { id: "b".into(), name: "g".into(), arguments: "{}".into() };
    calls.push(new.clone());
    completion.choices_mut()[0].set_calls(&calls);
    let sent = String::from_utf8(completion.to_bytes().to_vec()).unwrap();
    assert!(
        sent.starts_with(concat!(
            r#"{"output":[{"type":"reasoning","id":"rs_1", "summary":[]},"#,
            r#"{"type":"function_call","id":"fc_1","namespace":"n","call_id":"a","name":"f","arguments":"{\"x\":1}"},"#,
            r#"{"type":"function_call","id":"fc_"#
        )),
        "{sent}"
    );
    assert_eq!(output_of(&completion)[2]["status"], "completed");
    assert_eq!(completion.choices()[0].message.calls()[1], new);
}

#[test]
fn missing_call_ids_are_generated() {
    let completion =
        parse(r#"{"output":[{"type":"function_call","name":"f","arguments":"{}"}],"status":"completed"}"#).unwrap();
    let message = &completion.choices()[0].message;
    assert!(!message.is_well_formed() && !message.calls()[0].id.is_empty());
    let parts = message.parts();
    let part: Value = serde_json::from_str(parts[0].get()).unwrap();
    assert_eq!(part["call_id"], message.calls()[0].id);
}

#[test]
fn other_text_takes_the_place_of_the_text_parts() {
    let refusal = json!({"type": "refusal", "refusal": "r"});
    let annotated = json!({"type": "output_text", "text": "a", "annotations": [1], "logprobs": [2], "x": 3});
    let item = json!({"type": "message", "id": "msg_1", "content": [refusal, annotated, text_part("b")], "phase": "p"});
    let mut completion = answer(&[item]);
    completion.choices_mut()[0].set_text("new");
    let expected = json!({"type": "output_text", "text": "new", "annotations": [], "logprobs": [], "x": 3});
    assert_eq!(
        output_of(&completion)[0],
        json!({"type": "message", "id": "msg_1", "content": [refusal, expected], "phase": "p"})
    );
    let string: Value = serde_json::from_str(
        ResponsesAnswer.with_text(Some(&raw(&json!({"type": "message", "content": "old"}))), "new").get(),
    )
    .unwrap();
    assert_eq!(string["content"][0]["text"], "new");
}

#[test]
fn the_reason_of_an_incomplete_answer_is_its_finish_reason() {
    let reason = |members: &Value| answer_with(&[], members).choices()[0].clone();
    let incomplete = json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}});
    let choice = reason(&incomplete);
    assert_eq!((choice.finish_reason.as_deref(), choice.is_cut_off()), (Some("max_output_tokens"), true));
    let choice = reason(&json!({"status": "incomplete"}));
    assert_eq!((choice.finish_reason.as_deref(), choice.is_cut_off()), (Some("incomplete"), true));
    for status in ["completed", "in_progress", "queued"] {
        let choice = reason(&json!({ "status": status }));
        assert_eq!((choice.finish_reason.as_deref(), choice.is_cut_off()), (Some(status), false));
    }
    assert!(reason(&json!({"status": "cancelled"})).is_cut_off());
    assert!(!reason(&json!({"status": null})).is_cut_off());
}

#[test]
fn usage_is_read_and_replaced_beside_its_details() {
    let usage = json!({"input_tokens": 5, "input_tokens_details": {"cached_tokens": 3}, "output_tokens": 2});
    let mut completion = answer_with(&[], &json!({ "usage": usage }));
    let read = Usage { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7, cached_tokens: 3 };
    assert_eq!(completion.usage(), Some(read));
    let sum = Usage { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14, cached_tokens: 3 };
    completion.set_usage(sum);
    assert_eq!(completion.usage(), Some(sum));
    assert_eq!(completion.to_value()["usage"]["input_tokens_details"], json!({"cached_tokens": 3}));
    let mut minted = Completion::of_text(Protocol::Responses, "m", "Hi");
    minted.set_usage(sum);
    assert_eq!(minted.usage(), Some(sum));
    let value = minted.to_value();
    assert_eq!(value["usage"]["output_tokens_details"], json!({"reasoning_tokens": 0}));
    assert!(value["id"].as_str().unwrap().starts_with("resp_"));
    assert_eq!(value["output"][0]["content"][0]["text"], "Hi");
}

#[test]
fn failed_answers_are_errors_that_quote_nothing() {
    for text in [
        r#"{"status":"failed","error":{"code":"server_error","message":"canary"},"output":[]}"#,
        r#"{"error":{"message":"canary"}}"#,
        r#"{"type":"error","message":"canary"}"#,
        r#"{"canary":1}"#,
        r#"{"output":"canary"}"#,
    ] {
        let error = parse(text).unwrap_err();
        assert!(!error.message.contains("canary"), "{error}");
    }
    let body = ErrorBody { message: "m".into(), kind: "k".into(), param: None, code: None };
    assert_eq!(ResponsesAnswer.error_body(&body, StatusCode::BAD_GATEWAY), body.to_bytes());
}
