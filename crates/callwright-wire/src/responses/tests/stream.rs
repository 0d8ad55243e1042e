//! Streams of servers that deviate from the API reference.

use super::*;

fn created() -> Value {
    json!({"type": "response.created", "response": {"id": "resp_1", "object": "response", "status": "in_progress", "model": "m", "output": []}})
}

fn added(index: u64, item: &Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

fn done(index: u64, item: &Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

fn completed(output: &[Value]) -> Value {
    let response =
        json!({"id": "resp_1", "object": "response", "status": "completed", "model": "m", "output": output, "x": 1.5});
    json!({"type": "response.completed", "response": response})
}

fn begun_call(id: &str, call_id: &str) -> Value {
    json!({"type": "function_call", "id": id, "call_id": call_id, "name": "f", "arguments": "", "status": "in_progress"})
}

fn begun_message(id: &str) -> Value {
    json!({"type": "message", "id": id, "role": "assistant", "status": "in_progress", "content": []})
}

/// Returns the assembled answer, and whether the stream is conformant.
fn read(events: &[Value]) -> (Completion, bool) {
    let (assembly, _) = assembled(&stream_of(events));
    let is_conformant = assembly.is_conformant();
    (assembly.into_completion(), is_conformant)
}

#[test]
fn events_have_the_roles_of_their_items() {
    let call = function_call("fc_1", "call_1", "{}");
    let search = json!({"type": "web_search_call", "id": "ws_1", "status": "completed"});
    let output = [json!({"type": "reasoning", "id": "rs_1", "summary": []}), message("msg_1", &["Hi"]), call, search];
    let bytes = rest(b"", &answer(&output), true);
    let (mut assembly, roles) = assembled(&bytes);
    let distinct: Vec<EventRole> = roles.iter().fold(Vec::new(), |mut distinct, role| {
        if distinct.last() != Some(role) {
            distinct.push(*role);
        }
        distinct
    });
    let expected =
        [EventRole::Head, EventRole::Reasoning, EventRole::Text, EventRole::Call, EventRole::Other, EventRole::End];
    assert_eq!(distinct, expected);
    for (data, role) in [
        ("[DONE]", EventRole::End),
        ("", EventRole::Ping),
        (r#"{"type":"response.later"}"#, EventRole::Other),
        (r#"{"type":"error","message":"m"}"#, EventRole::Error),
        (r#"{"error":{"message":"m"}}"#, EventRole::Error),
        (r#"{"type":"response.failed","response":{}}"#, EventRole::Error),
        (r#"{"type":"response.completed","response":{"status":"failed"}}"#, EventRole::Error),
        (r#"{"type":"response.web_search_call.searching","item_id":"ws_1"}"#, EventRole::Other),
        (r#"{"type":"response.shell_call_command.delta","item_id":"fc_1"}"#, EventRole::Call),
    ] {
        let event = SseEvent { raw: Bytes::new(), data: Some(data.to_owned()) };
        assert_eq!(assembly.take(&event).unwrap(), role, "{data}");
    }
    assert_eq!(assembly.take(&SseEvent { raw: Bytes::new(), data: None }).unwrap(), EventRole::Ping);
}

// vllm-project/vllm issue 38227, pull request 47916.
#[test]
fn ids_that_the_final_response_changes_stay_those_of_the_stream() {
    let streamed = function_call("fc_1", "call_1", "{}");
    let text = message("msg_1", &["Hi"]);
    let mut events = values(&rest(b"", &answer(&[text.clone(), streamed.clone()]), true));
    let last = events.last_mut().unwrap();
    last["response"]["output"] = json!([message("msg_9", &["Hi"]), function_call("fc_9", "call_9", "{}")]);
    let (completion, is_conformant) = read(&events);
    assert!(!is_conformant);
    assert_eq!(output_of(&completion), [text, streamed]);
}

// BerriAI/litellm issue 33678.
#[test]
fn calls_at_the_same_index_are_several() {
    let argument = |id: &str, delta: &str| json!({"type": "response.function_call_arguments.delta", "item_id": id, "output_index": 0, "delta": delta});
    let events = [
        created(),
        added(0, &begun_call("fc_1", "call_1")),
        argument("fc_1", "{\"a\""),
        added(0, &begun_call("fc_2", "call_2")),
        argument("fc_2", "{\"b\""),
        argument("fc_2", ":2}"),
        argument("fc_1", ":1}"),
        completed(&[]),
    ];
    let (completion, is_conformant) = read(&events);
    assert!(!is_conformant);
    let calls = completion.choices()[0].message.calls();
    let calls: Vec<(&str, &str)> = calls.iter().map(|call| (call.id.as_str(), call.arguments.as_str())).collect();
    assert_eq!(calls, [("call_1", "{\"a\":1}"), ("call_2", "{\"b\":2}")]);
    assert_eq!(completion.to_value()["x"], 1.5);
    assert!(output_of(&completion).iter().all(|item| item["status"] == "completed"));
}

// maximhq/bifrost issue 5149.
#[test]
fn reasoning_that_never_ends_is_ended_for_the_client() {
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": [], "status": "in_progress"});
    let delta = |text: &str| json!({"type": "response.reasoning_summary_text.delta", "item_id": "rs_1", "output_index": 0, "summary_index": 0, "delta": text});
    let part = json!({"type": "response.reasoning_summary_part.added", "item_id": "rs_1", "output_index": 0, "summary_index": 0,
        "part": {"type": "summary_text", "text": ""}});
    let client = [created(), added(0, &reasoning), part, delta("Hm"), delta("m.")];
    let mut events = client.to_vec();
    let written = values(&rest(b"", &answer(&[message("msg_0", &[]), message("msg_1", &["Hi"])]), true));
    events.extend(written.into_iter().filter(|event| event["output_index"] == 1));
    events.push(completed(&[message("msg_1", &["Hi"])]));
    let (completion, is_conformant) = read(&events);
    assert!(!is_conformant);
    assert_eq!(completion.choices()[0].message.reasoning().as_deref(), Some("Hmm."));
    let mut bytes = stream_of(&client);
    bytes.extend(rest(&bytes, &completion, true));
    let response = strict_response(&values(&bytes));
    assert_eq!(response["output"][0]["summary"], json!([{"type": "summary_text", "text": "Hmm."}]));
    assert_eq!(
        (&response["output"][0]["status"], &response["output"][1]["id"]),
        (&json!("completed"), &json!("msg_1"))
    );
}

#[test]
fn text_without_any_end_is_complete() {
    let delta = |text: &str| json!({"type": "response.output_text.delta", "output_index": 0, "delta": text});
    for begin in [vec![], vec![added(0, &begun_message("msg_1"))]] {
        let mut events = vec![created()];
        events.extend(begin);
        events.extend([delta("Hel"), delta("lo")]);
        let (assembly, _) = assembled(&stream_of(&events));
        assert_eq!((assembly.text(), assembly.is_finished(), assembly.is_conformant()), ("Hello", false, false));
        events.push(completed(&[]));
        let (completion, _) = read(&events);
        assert_eq!(completion.choices()[0].message.text().as_deref(), Some("Hello"));
        assert_eq!(completion.choices()[0].finish_reason.as_deref(), Some("completed"));
        let output = output_of(&completion);
        assert_eq!((output.len(), &output[0]["status"]), (1, &json!("completed")));
    }
}

#[test]
fn text_that_only_later_events_have_is_added() {
    let delta = json!({"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": "Hel"});
    let full = message("msg_1", &["Hello"]);
    let text_done = json!({"type": "response.output_text.done", "item_id": "msg_1", "output_index": 0, "content_index": 0, "text": "Hello"});
    let ends = [text_done, done(0, &full), completed(std::slice::from_ref(&full))];
    for end in ends {
        let events = [created(), added(0, &begun_message("msg_1")), delta.clone(), end];
        let (assembly, _) = assembled(&stream_of(&events));
        assert_eq!(assembly.text(), "Hello");
        assert!(!assembly.is_conformant());
        assert_eq!(assembly.into_completion().choices()[0].message.text().as_deref(), Some("Hello"));
    }
}

#[test]
fn calls_that_only_the_final_response_has_are_calls() {
    let output = [message("msg_1", &["Hi"]), function_call("fc_1", "call_1", "{}")];
    let mut events = values(&rest(b"", &answer(&output[..1]), true));
    let last = events.last_mut().unwrap();
    last["response"]["output"] = json!(output);
    let (assembly, _) = assembled(&stream_of(&events));
    assert!(assembly.has_calls() && !assembly.is_conformant());
    assert_eq!(output_of(&assembly.into_completion()), output);
}

#[test]
fn deviations_make_a_stream_irregular() {
    let output = [message("msg_1", &["Hi"]), function_call("fc_1", "call_1", "{}")];
    let events = values(&rest(b"", &answer(&output), true));
    assert!(read(&events).1);
    let is_regular = |change: &dyn Fn(&mut Vec<Value>)| {
        let mut events = events.clone();
        change(&mut events);
        let (completion, is_conformant) = read(&events);
        assert_eq!(completion.choices()[0].message.text().as_deref(), Some("Hi"));
        assert_eq!(completion.choices()[0].message.calls()[0].arguments, "{}");
        is_conformant
    };
    let position = |name: &str| events.iter().rposition(|event| event["type"] == name).unwrap();
    for name in [
        "response.created", "response.content_part.done", "response.output_text.done", "response.output_item.done",
        "response.function_call_arguments.delta", "response.function_call_arguments.done",
    ] {
        let at = position(name);
        assert!(!is_regular(&|events| drop(events.remove(at))), "{name}");
        if name != "response.function_call_arguments.delta" {
            assert!(!is_regular(&|events| events.insert(at, events[at].clone())), "{name}");
        }
    }
    for key in ["output_index", "item_id", "content_index"] {
        let at = position("response.output_text.delta");
        assert!(!is_regular(&|events| drop(events[at].as_object_mut().unwrap().remove(key))), "{key}");
    }
    let last = events.len() - 1;
    assert!(!is_regular(&|events| events[last]["response"]["id"] = json!("resp_2")));
    assert!(!is_regular(&|events| events[last]["response"]["output"][1]["status"] = json!("in_progress")));
    let mut unnumbered = String::from_utf8(stream_of(&events)).unwrap();
    unnumbered = unnumbered.replace("\"sequence_number\":3", "\"sequence_number\":4");
    assert!(!assembled(unnumbered.as_bytes()).0.is_conformant());
    let unnamed = String::from_utf8(stream_of(&events)).unwrap().replace("event: response.completed\n", "");
    assert!(!assembled(unnamed.as_bytes()).0.is_conformant());
}

// BerriAI/litellm issue 31571.
#[test]
fn a_custom_call_stays_a_custom_call() {
    let call =
        json!({"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "sql", "input": "select 1"});
    let bytes = rest(b"", &answer(std::slice::from_ref(&call)), true);
    let (assembly, roles) = assembled(&bytes);
    assert!(assembly.has_calls() && roles.contains(&EventRole::Call));
    let completion = assembly.into_completion();
    let message = &completion.choices()[0].message;
    assert!(message.calls().is_empty());
    assert_eq!(message.unjudged_calls()[0].arguments, "select 1");
    assert_eq!(output_of(&completion), [call]);
}

#[test]
fn a_stream_of_parts_for_a_call_has_no_message() {
    let part = json!({"type": "response.content_part.added", "item_id": "fc_1", "output_index": 0, "content_index": 0, "part": text_part("")});
    let events =
        [created(), added(0, &begun_call("fc_1", "call_1")), part, done(0, &function_call("fc_1", "call_1", "{}"))];
    let (assembly, _) = assembled(&[stream_of(&events), b"data: [DONE]\n\n".to_vec()].concat());
    assert!(assembly.is_finished() && !assembly.is_conformant());
    let completion = assembly.into_completion();
    assert_eq!(output_of(&completion), [function_call("fc_1", "call_1", "{}")]);
    assert_eq!(completion.choices()[0].finish_reason.as_deref(), Some("completed"));
}

#[test]
fn streams_beyond_the_limits_are_rejected() {
    let mut assembly = ResponsesAssembly::new(60);
    let event = |data: &str| SseEvent { raw: Bytes::new(), data: Some(data.to_owned()) };
    for (delta, is_full) in [
        ("\"12345\",\"x\":\"0123456789012345678901234567890123456789\"", false),
        ("\"12345678901234567890123456789012345678901234567890123\"", true),
    ] {
        let data = format!(
            "{{\"type\":\"response.output_text.delta\",\"item_id\":\"m\",\"output_index\":0,\"delta\":{delta}}}"
        );
        assembly.take(&event(&data)).unwrap();
        assert_eq!(assembly.is_full(), is_full, "{delta}");
    }
    assembly.pass();
    assert!(!assembly.is_full());
    let mut assembly = ResponsesAssembly::new(MAX_BYTES);
    let item =
        SseEvent { raw: Bytes::new(), data: Some(r#"{"type":"response.output_item.added","item":{}}"#.to_owned()) };
    let taken = (0..=crate::parts::MAX_PARTS).take_while(|_| assembly.take(&item).is_ok()).count();
    assert_eq!(taken, crate::parts::MAX_PARTS);
    for data in ["{", "[]", "5"] {
        let error = assembly.take(&SseEvent { raw: Bytes::new(), data: Some(data.to_owned()) }).unwrap_err();
        assert!(error.message.contains("JSON object"));
    }
}
