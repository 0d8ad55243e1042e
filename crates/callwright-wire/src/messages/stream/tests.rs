use serde_json::{Value, json};

use super::super::testing::{
    assembled, call, completion_of, delta, ending, event, head, input_delta, start, stop, text_delta,
};
use super::*;

fn text_block() -> Value {
    json!({"type": "text", "text": ""})
}

fn thinking_block() -> Value {
    json!({"type": "thinking", "thinking": "", "signature": ""})
}

/// Returns the blocks of a stream between head and end, and whether it conforms.
fn blocks_of(events: &[Value]) -> (Value, bool) {
    let mut all = vec![head()];
    all.extend_from_slice(events);
    all.extend(ending("end_turn"));
    let assembly = assembled(&all);
    assert!(assembly.is_finished());
    let is_conformant = assembly.is_conformant();
    (completion_of(assembly)["content"].clone(), is_conformant)
}

fn tolerated(events: &[Value], expected: &Value) {
    assert_eq!(blocks_of(events), (expected.clone(), false));
}

#[test]
fn a_regular_stream_becomes_the_answer_of_an_unstreamed_request() {
    let citation = json!({"type": "char_location", "cited_text": "x"});
    let search = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"url": "u"}]});
    let mut events = vec![
        head(),
        start(0, thinking_block()),
        json!({"type": "ping"}),
        delta(0, json!({"type": "thinking_delta", "thinking": "h", "estimated_tokens": 5})),
        delta(0, json!({"type": "thinking_delta", "thinking": "m"})),
        delta(0, json!({"type": "signature_delta", "signature": "s=="})),
        stop(0),
        start(1, json!({"type": "redacted_thinking", "data": "x"})),
        stop(1),
        start(2, search),
        input_delta(2, "{\"query\""),
        input_delta(2, ":\"q\"}"),
        stop(2),
        start(3, found.clone()),
        stop(3),
        start(4, json!({"type": "text", "text": "", "citations": []})),
        text_delta(4, "Hel"),
        text_delta(4, "lo"),
        delta(4, json!({"type": "citations_delta", "citation": citation})),
        stop(4),
        start(5, call("toolu_1", "f")),
        input_delta(5, ""),
        input_delta(5, "{\"n\":1.0"),
        input_delta(5, "0}"),
        stop(5),
    ];
    events.extend(ending("tool_use"));
    let assembly = assembled(&events);
    assert!(assembly.is_conformant() && assembly.is_finished() && assembly.has_calls());
    assert_eq!(assembly.text(), "Hello");
    let completion = Box::new(assembly).into_completion();
    assert_eq!(completion.choices()[0].message.calls()[0].arguments, "{\"n\":1.00}");
    assert_eq!(completion.usage().unwrap().total_tokens, 14);
    assert_eq!(
        completion.to_value(),
        json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s=="},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
            found,
            {"type": "text", "text": "Hello", "citations": [citation]},
            {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"n": 1.00}},
        ], "stop_reason": "tool_use", "stop_sequence": null,
        "usage": {"input_tokens": 3, "cache_read_input_tokens": 2, "output_tokens": 9}})
    );
}

#[test]
fn a_delta_of_another_kind_does_not_split_its_indexed_block() {
    let call_of = |input: Value| json!({"type": "tool_use", "id": "toolu_1", "name": "f", "input": input});
    for stray in [vec![""], vec!["\n"], vec!["Wait", ", more."]] {
        let mut events = vec![start(0, call("toolu_1", "f")), input_delta(0, "{\"n\":")];
        for text in &stray {
            events.extend([text_delta(0, text), input_delta(0, " ")]);
        }
        events.extend([input_delta(0, "1}"), stop(0), start(1, call("toolu_2", "f")), input_delta(1, "{}"), stop(1)]);
        let (blocks, is_conformant) = blocks_of(&events);
        let calls: Vec<&Value> =
            blocks.as_array().unwrap().iter().filter(|block| block["type"] == "tool_use").collect();
        assert_eq!(
            calls,
            [&call_of(json!({"n": 1})), &json!({"type": "tool_use", "id": "toolu_2", "name": "f", "input": {}})]
        );
        let texts: Vec<&str> = blocks.as_array().unwrap().iter().filter_map(|block| block["text"].as_str()).collect();
        assert_eq!((texts.concat(), is_conformant), (stray.concat(), false));
    }
}

#[test]
fn events_have_the_role_of_their_block() {
    let mut assembly = MessagesAssembly::new(10_000);
    let mut role = |data: &Value| assembly.take(&event(data)).unwrap();
    assert_eq!(role(&head()), EventRole::Head);
    for (index, (block, expected)) in [
        (text_block(), EventRole::Text),
        (thinking_block(), EventRole::Reasoning),
        (json!({"type": "redacted_thinking"}), EventRole::Reasoning),
        (call("a", "f"), EventRole::Call),
        (json!({"type": "server_tool_use"}), EventRole::Other),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(role(&start(index, block)), expected);
        assert_eq!(role(&delta(index, json!({"type": "future_delta"}))), expected);
        assert_eq!(role(&stop(index)), expected);
    }
    assert_eq!(role(&json!({"type": "future"})), EventRole::Other);
    assert_eq!(ending("end_turn").map(|data| role(&data)), [EventRole::End; 2]);
    assert_eq!(role(&json!({"type": "error", "error": {"type": "overloaded_error"}})), EventRole::Error);
    assert_eq!(role(&json!({"error": {"message": "m"}})), EventRole::Error);
    assert_eq!(role(&json!({"type": "ping"})), EventRole::Ping);
    let comment = SseEvent { raw: ": ping\n\n".into(), data: None };
    assert_eq!(assembly.take(&comment).unwrap(), EventRole::Ping);
    assert!(assembly.is_conformant());
}

#[test]
fn usage_is_cumulative_and_other_members_of_the_end_are_kept() {
    let mut events = vec![head()];
    events.push(
        json!({"type": "message_delta", "delta": {"stop_reason": "refusal", "stop_details": {"type": "refusal"}},
        "usage": {"input_tokens": null, "output_tokens": 4}, "context_management": {"applied_edits": []}}),
    );
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": null}, "usage": {"output_tokens": 5}}));
    events.push(json!({"type": "message_stop"}));
    let assembly = assembled(&events);
    assert!(assembly.is_conformant());
    let value = completion_of(assembly);
    assert_eq!(value["usage"], json!({"input_tokens": 3, "cache_read_input_tokens": 2, "output_tokens": 5}));
    assert_eq!((&value["stop_reason"], &value["stop_details"]), (&json!("refusal"), &json!({"type": "refusal"})));
    assert_eq!(value["context_management"], json!({"applied_edits": []}));
}

#[test]
fn members_of_unknown_deltas_continue_those_of_the_block() {
    let block = json!({"type": "compaction", "content": null, "list": [1], "n": 1});
    let pieces = [json!({"content": "a", "list": [2]}), json!({"content": "b", "n": 2, "new": null})];
    let [first, second] = pieces.map(|mut piece| {
        piece["type"] = json!("compaction_delta");
        delta(0, piece)
    });
    assert_eq!(
        blocks_of(&[start(0, block), first, second, stop(0)]),
        (json!([{"type": "compaction", "content": "ab", "list": [1, 2], "n": 2, "new": null}]), true)
    );
}

#[test]
fn a_block_without_deltas_keeps_its_bytes() {
    let block = r#"{"type":"future", "x":1.00,"y":"\u0041"}"#;
    let data = format!(r#"{{"type":"content_block_start","index":0,"content_block":{block}}}"#);
    let mut assembly = assembled(&[head()]);
    assembly.take(&SseEvent { raw: "".into(), data: Some(data) }).unwrap();
    let body = Box::new(assembly).into_completion().to_bytes();
    assert!(std::str::from_utf8(&body).unwrap().contains(block));
}

// maximhq/bifrost 5638: the signature came in a delta of thinking, where clients do not look for it.
#[test]
fn a_signature_is_found_in_other_deltas_and_in_the_start() {
    let thinking = |signature: &str| json!([{"type": "thinking", "thinking": "hm", "signature": signature}]);
    let piece = delta(0, json!({"type": "thinking_delta", "thinking": "hm"}));
    let misplaced = delta(0, json!({"type": "thinking_delta", "thinking": "", "signature": "s"}));
    tolerated(&[start(0, thinking_block()), piece.clone(), misplaced, stop(0)], &thinking("s"));
    let signed = json!({"type": "thinking", "thinking": "", "signature": "s"});
    tolerated(&[start(0, signed), piece.clone(), stop(0)], &thinking("s"));
    let late = [
        start(0, thinking_block()),
        piece,
        stop(0),
        start(1, text_block()),
        delta(1, json!({"type": "signature_delta", "signature": "s"})),
        stop(1),
    ];
    let (blocks, is_conformant) = blocks_of(&late);
    assert_eq!((&blocks[0], &blocks[1], is_conformant), (&thinking("s")[0], &text_block(), false));
}

#[test]
fn input_that_is_not_an_object_stays_the_text_of_the_model() {
    for (text, input) in [
        ("", json!({})),
        (" ", json!({})),
        ("{\"a\":[1,", json!("{\"a\":[1,")),
        ("nonsense", json!("nonsense")),
        ("[1]", json!("[1]")),
        ("\"a\"", json!("\"a\"")),
    ] {
        let events = [start(0, call("a", "f")), input_delta(0, text), stop(0)];
        let mut expected = call("a", "f");
        expected["input"] = input;
        assert_eq!(blocks_of(&events), (json!([expected]), true), "{text}");
    }
    let mut events = vec![head(), start(0, call("a", "f")), input_delta(0, "{\"a\":"), stop(0)];
    events.extend(ending("max_tokens"));
    let completion = Box::new(assembled(&events)).into_completion();
    let message = &completion.choices()[0].message;
    assert_eq!(message.calls()[0].arguments, "{\"a\":");
    assert!(!message.is_well_formed());
}

#[test]
fn whole_inputs_are_tolerated() {
    let mut whole = call("a", "f");
    whole["input"] = json!({"x": 1});
    tolerated(&[start(0, whole.clone()), stop(0)], &json!([whole]));
    tolerated(&[start(0, whole.clone()), input_delta(0, ""), stop(0)], &json!([whole]));
    tolerated(&[start(0, whole.clone()), input_delta(0, "{\"x\":1}"), stop(0)], &json!([whole]));
    let object = delta(0, json!({"type": "input_json_delta", "partial_json": {"x": 1}}));
    tolerated(&[start(0, call("a", "f")), object, stop(0)], &json!([whole]));
    let bare = json!({"type": "tool_use", "id": "a", "name": "f"});
    tolerated(&[start(0, bare), stop(0)], &json!([call("a", "f")]));
}

#[test]
fn missing_and_repeated_indexes_are_tolerated() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let without_index = |mut data: Value| {
        data.as_object_mut().unwrap().remove("index");
        data
    };
    let events =
        [start(0, text_block()), text_delta(0, "a"), stop(0), start(1, call("c", "f")), input_delta(1, "{}"), stop(1)];
    let expected = json!([text("a"), call("c", "f")]);
    assert_eq!(blocks_of(&events), (expected.clone(), true));
    tolerated(&events.clone().map(without_index), &expected);
    tolerated(
        &events.map(|mut data| {
            data["index"] = json!(0);
            data
        }),
        &expected,
    );
    tolerated(
        &[start(0, text_block()), text_delta(0, "a"), start(1, text_block()), text_delta(1, "b")],
        &json!([text("a"), text("b")]),
    );
    tolerated(&[start(3, text_block()), text_delta(3, "a"), stop(3)], &json!([text("a")]));
    tolerated(&[start(0, text_block()), stop(0), stop(0)], &json!([text("")]));
}

#[test]
fn deltas_without_a_block_of_their_kind_begin_one() {
    let events = [
        start(0, thinking_block()),
        text_delta(0, "a"),
        text_delta(0, "b"),
        delta(0, json!({"type": "thinking_delta", "thinking": "c"})),
    ];
    tolerated(
        &events,
        &json!([thinking_block(), {"type": "text", "text": "ab"}, {"type": "thinking", "thinking": "c"}]),
    );
    tolerated(&[delta(0, json!({"type": "future_delta"})), delta(0, json!({"type": "future_delta"}))], &json!([]));
    tolerated(&[text_delta(0, "a")], &json!([{"type": "text", "text": "a"}]));
}

#[test]
fn deviations_of_single_events_do_not_conform() {
    let end = ending("end_turn");
    let [finish, last] = &end;
    let without = |mut data: Value, key: &str| {
        data.as_object_mut().unwrap().remove(key);
        data
    };
    for events in [
        vec![start(0, text_block())],
        vec![head(), head()],
        vec![json!({"type": "message_start"})],
        vec![head(), start(0, text_block()), finish.clone()],
        vec![head(), without(finish.clone(), "usage")],
        vec![head(), last.clone()],
        vec![head(), finish.clone(), start(0, text_block())],
        vec![head(), finish.clone(), last.clone(), last.clone()],
        vec![head(), start(0, call("", "f"))],
        vec![head(), start(0, call("functions.f:0", "f"))],
        vec![head(), start(0, call("a", ""))],
        vec![head(), start(0, call("a", "f")), stop(0), start(1, call("a", "f"))],
        vec![head(), json!({"type": "content_block_start", "index": 0})],
        vec![head(), start(0, text_block()), json!({"type": "content_block_delta", "index": 0})],
        vec![head(), start(0, text_block()), delta(0, json!({"type": "text_delta"}))],
    ] {
        assert!(!assembled(&events).is_conformant(), "{events:?}");
    }
    let mut unnamed = event(&head());
    unnamed.raw = format!("data: {}\n\n", head()).into();
    let mut assembly = MessagesAssembly::new(1000);
    assert_eq!(assembly.take(&unnamed).unwrap(), EventRole::Head);
    assert!(!assembly.is_conformant());
    let untyped = SseEvent { raw: "event: message_stop\ndata: {}\n\n".into(), data: Some("{}".into()) };
    assert_eq!(assembly.take(&untyped).unwrap(), EventRole::End);
    let done = SseEvent { raw: "data: [DONE]\n\n".into(), data: Some("[DONE]".into()) };
    assert_eq!(assembly.take(&done).unwrap(), EventRole::End);
}

#[test]
fn an_unfinished_stream_has_no_stop_reason() {
    let assembly = assembled(&[]);
    assert!(!assembly.is_finished() && assembly.is_conformant());
    let value = completion_of(assembly);
    assert_eq!((&value["stop_reason"], &value["content"]), (&Value::Null, &json!([])));
    let assembly = assembled(&[head(), ending("end_turn")[0].clone()]);
    assert!(assembly.is_finished(), "the last event may be missing");
}

#[test]
fn limits_are_enforced() {
    let mut assembly = MessagesAssembly::new(1000);
    assembly.take(&event(&head())).unwrap();
    assembly.take(&event(&start(0, text_block()))).unwrap();
    assert!(!assembly.is_full());
    (0..200).for_each(|_| assert!(assembly.take(&event(&text_delta(0, "canary"))).is_ok()));
    assert!(assembly.is_full());
    assembly.pass();
    assert!(!assembly.is_full());
    assert!(assembly.take(&event(&text_delta(0, "canary"))).is_ok());
    let mut assembly = MessagesAssembly::new(usize::MAX);
    let error = (0..=MAX_PARTS).find_map(|at| assembly.take(&event(&start(at, text_block()))).err()).unwrap();
    assert!(error.message.contains("parts"));
    let text = SseEvent { raw: "".into(), data: Some("canary".into()) };
    assert!(!MessagesAssembly::new(1000).take(&text).unwrap_err().message.contains("canary"));
}
