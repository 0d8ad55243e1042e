use bytes::Bytes;
use serde_json::{Value, json};

use super::*;
use crate::{SseEvent, SseReader, StreamItem};

pub(super) fn event(value: &Value) -> SseEvent {
    SseEvent { raw: Bytes::new(), data: Some(value.to_string()) }
}

pub(super) fn assembled(chunks: &[Value]) -> Assembler {
    let mut assembler = Assembler::new(100_000);
    for value in chunks {
        assembler.take(&event(value)).unwrap();
    }
    assembler
}

pub(super) fn delta(delta: Value) -> Value {
    json!({"id": "c", "object": "chat.completion.chunk", "created": 7, "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn calls(lists: &[Value]) -> Assembler {
    assembled(&lists.iter().map(|list| delta(json!({ "tool_calls": list }))).collect::<Vec<_>>())
}

/// Returns names and arguments of the calls in these `tool_calls`, and whether they were conformant.
fn made(lists: &[Value]) -> (Vec<(String, String)>, bool) {
    let assembler = calls(lists);
    let conformant = assembler.is_conformant();
    let completion = assembler.into_completion();
    let calls = completion.choices()[0].message.calls();
    assert!(calls.iter().all(|call| !call.id.is_empty()));
    (calls.iter().map(|call| (call.name.clone(), call.arguments.clone())).collect(), conformant)
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, arguments)| ((*name).to_owned(), (*arguments).to_owned())).collect()
}

fn tolerated(lists: &[Value], expected: &[(&str, &str)]) {
    assert_eq!(made(lists), (pairs(expected), false));
}

#[test]
fn a_regular_stream_becomes_the_answer_of_an_unstreamed_request() {
    let first = json!({"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}});
    let usage = json!({"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3, "details": {"x": 1}});
    let assembler = assembled(&[
        delta(json!({"role": "assistant", "content": null})),
        delta(json!({ "tool_calls": [first] })),
        delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"x\""}}]})),
        delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]})),
        delta(
            json!({"tool_calls": [{"index": 1, "id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}}]}),
        ),
        json!({"id": "c", "model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
        json!({"id": "c", "model": "m", "choices": [], "usage": usage, "system_fingerprint": "fp", "obfuscation": "zz"}),
    ]);
    assert!(assembler.is_conformant() && assembler.is_finished());
    let completion = assembler.into_completion();
    assert_eq!(completion.usage().map(|usage| usage.total_tokens), Some(3));
    assert_eq!(
        completion.to_value(),
        json!({"id": "c", "object": "chat.completion", "created": 7, "model": "m", "choices": [{
            "index": 0,
            "message": {"role": "assistant", "content": null, "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x\":1}"}},
                {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}},
            ]},
            "logprobs": null,
            "finish_reason": "tool_calls",
        }], "system_fingerprint": "fp", "usage": usage})
    );
}

#[test]
fn deltas_without_index_belong_to_their_id_or_to_the_last_call() {
    tolerated(
        &[
            json!([{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x\":"}}]),
            json!([{"function": {"arguments": "1"}}]),
            json!([{"id": "b", "type": "function", "function": {"name": "g", "arguments": ""}}]),
            json!([{"id": "a", "function": {"arguments": "}"}}, {"id": "b", "function": {"arguments": "{}"}}]),
        ],
        &[("f", "{\"x\":1}"), ("g", "{}")],
    );
}

#[test]
fn deltas_without_id_get_one_at_the_end() {
    tolerated(
        &[
            json!([{"index": 0, "type": "function", "function": {"name": "f", "arguments": "{}"}}]),
            json!([{"index": 1, "type": "function", "function": {"name": "f", "arguments": "{}"}}]),
        ],
        &[("f", "{}"), ("f", "{}")],
    );
}

#[test]
fn a_name_after_complete_arguments_without_index_is_a_new_call() {
    tolerated(
        &[
            json!([{"function": {"name": "f", "arguments": "{\"a\":\"}\"}"}}]),
            json!([{"function": {"name": "f", "arguments": "{}"}}]),
            json!([{"function": {"name": "g", "arguments": "{"}}]),
            json!([{"function": {"arguments": "}"}}]),
        ],
        &[("f", "{\"a\":\"}\"}"), ("f", "{}"), ("g", "{}")],
    );
}

#[test]
fn elements_with_names_in_one_list_are_different_calls() {
    tolerated(
        &[
            json!([{"function": {"name": "f", "arguments": {}}}, {"function": {"name": "g"}}, {"function": {"name": "g"}}]),
        ],
        &[("f", "{}"), ("g", ""), ("g", "")],
    );
    tolerated(
        &[
            json!([{"index": 0, "function": {"name": "f", "arguments": ""}}, {"index": 0, "function": {"name": "g", "arguments": ""}}]),
        ],
        &[("f", ""), ("g", "")],
    );
}

#[test]
fn calls_have_the_order_of_their_indexes_where_these_differ() {
    let begin = |index: u64, id: &str, name: &str| json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": "{}"}});
    tolerated(
        &[json!([begin(2, "c", "h")]), json!([begin(0, "a", "f"), begin(1, "b", "g")])],
        &[("f", "{}"), ("g", "{}"), ("h", "{}")],
    );
    // Numbered from 0 in each chunk: the order of arrival applies.
    tolerated(
        &[json!([begin(1, "a", "f"), begin(0, "b", "g")]), json!([begin(0, "c", "h")])],
        &[("f", "{}"), ("g", "{}"), ("h", "{}")],
    );
}

#[test]
fn a_new_id_under_a_used_index_is_another_call() {
    tolerated(
        &[
            json!([{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x\":"}}]),
            json!([{"index": 0, "function": {"arguments": "1}"}}]),
            json!([{"index": 0, "id": "b", "type": "function", "function": {"name": "g", "arguments": ""}}]),
            json!([{"index": 0, "function": {"arguments": "{}"}}]),
            json!([{"index": 0, "id": "c", "type": "function", "function": {"name": "g", "arguments": "{}"}}]),
        ],
        &[("f", "{\"x\":1}"), ("g", "{}"), ("g", "{}")],
    );
}

#[test]
fn an_empty_id_counts_as_none() {
    tolerated(
        &[
            json!([{"index": 0, "id": "", "type": "function", "function": {"name": "f", "arguments": "{}"}}]),
            json!([{"index": 0, "id": "", "type": "function", "function": {"name": "g", "arguments": "{}"}}]),
        ],
        &[("f", "{}"), ("g", "{}")],
    );
}

#[test]
fn an_id_minted_for_every_piece_does_not_split_a_call() {
    tolerated(
        &[
            json!([{"index": 0, "id": "r1", "type": "function", "function": {"name": "f"}}]),
            json!([{"index": 0, "id": "r2", "type": "function", "function": {"arguments": "{\"x\":"}}]),
            json!([{"index": 0, "id": "r3", "type": "function", "function": {"name": "f", "arguments": "1}"}}]),
            json!([{"index": 0, "id": "r4", "type": "function", "function": {"arguments": ""}}]),
        ],
        &[("f", "{\"x\":1}")],
    );
    tolerated(
        &[
            json!([{"id": "r1", "type": "function", "function": {"name": "f", "arguments": "{"}}]),
            json!([{"id": "r2", "type": "function", "function": {"arguments": "}"}}]),
        ],
        &[("f", "{}")],
    );
}

#[test]
fn an_empty_piece_at_the_end_is_no_call() {
    tolerated(
        &[
            json!([{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]),
            json!([{"index": 1, "function": {"arguments": ""}}]),
        ],
        &[("f", "{}")],
    );
}

#[test]
fn a_name_may_come_in_pieces() {
    tolerated(
        &[
            json!([{"index": 0, "id": "a", "type": "function", "function": {"name": "get_"}}]),
            json!([{"index": 0, "function": {"name": "wea"}}]),
            json!([{"index": 0, "function": {"name": "ther", "arguments": "{"}}]),
            json!([{"index": 0, "function": {"arguments": "}"}}]),
        ],
        &[("get_weather", "{}")],
    );
}

#[test]
fn a_name_that_is_repeated_is_taken_once() {
    tolerated(
        &[
            json!([{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}]),
            json!([{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}]),
            json!([{"index": 0, "function": {"name": "f", "arguments": "{"}}]),
            json!([{"index": 0, "function": {"name": "f", "arguments": "}"}}]),
            json!([{"index": 0, "function": {"name": "f", "arguments": ""}}]),
        ],
        &[("f", "{}")],
    );
}

#[test]
fn an_id_that_comes_late_is_taken() {
    let assembler = calls(&[
        json!([{"index": 0, "type": "function", "function": {"name": "f", "arguments": ""}}]),
        json!([{"index": 0, "id": "late", "function": {"arguments": "{}"}}]),
    ]);
    assert!(!assembler.is_conformant());
    let completion = assembler.into_completion();
    assert_eq!(completion.choices()[0].message.calls()[0].id, "late");
}

#[test]
fn arguments_may_be_an_object() {
    tolerated(
        &[
            json!([{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": {"x": [1, 2.50]}}}]),
        ],
        &[("f", "{\"x\":[1,2.5]}")],
    );
}

#[test]
fn a_call_outside_the_protocols_form_makes_the_answer_malformed() {
    let call = |arguments: Value| json!({"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}});
    for (list, is_well_formed) in [
        (json!([call(json!("{\"x\":1}"))]), true),
        (json!([call(json!({"x": 1}))]), false),
        (call(json!("{\"x\":1}")), false),
        (call(json!({"x": 1})), false),
    ] {
        let assembler = calls(std::slice::from_ref(&list));
        assert_eq!(assembler.is_conformant(), is_well_formed, "{list}");
        let completion = assembler.into_completion();
        let message = &completion.choices()[0].message;
        assert_eq!(message.is_well_formed(), is_well_formed, "{list}");
        assert_eq!((message.calls()[0].name.as_str(), message.calls()[0].arguments.as_str()), ("f", "{\"x\":1}"));
    }
}

#[test]
fn what_a_client_could_stumble_over_is_not_conformant() {
    let regular = json!([{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]);
    assert!(calls(std::slice::from_ref(&regular)).is_conformant());
    for list in [
        json!([{"index": 1, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]),
        json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}]),
        json!([{"index": 0, "id": "a", "type": "function", "function": {"arguments": "{}"}}]),
        json!([null]),
    ] {
        assert!(!calls(&[list]).is_conformant());
    }
    let same_id = json!([{"index": 1, "id": "a", "type": "function", "function": {"name": "g", "arguments": "{}"}}]);
    let assembler = calls(&[regular, same_id]);
    assert!(!assembler.is_conformant());
    let completion = assembler.into_completion();
    let calls = completion.choices()[0].message.calls();
    assert!(calls.len() == 2 && calls[0].id != calls[1].id);
}

#[test]
fn unknown_members_of_calls_survive() {
    let assembler = calls(&[
        json!([{"index": 0, "id": "a", "type": "function", "extra_content": {"google": {"thought_signature": "s"}}, "function": {"name": "f", "arguments": "{", "k": "x"}}]),
        json!([{"index": 0, "function": {"arguments": "}", "k": "y"}}]),
    ]);
    let value = assembler.into_completion().to_value();
    assert_eq!(
        value["choices"][0]["message"]["tool_calls"][0],
        json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}", "k": "xy"}, "extra_content": {"google": {"thought_signature": "s"}}})
    );
}

#[test]
fn custom_calls_are_assembled_and_not_judged() {
    let assembler = calls(&[
        json!([{"index": 0, "id": "a", "type": "custom", "custom": {"name": "sql", "input": "sel"}}]),
        json!([{"index": 0, "custom": {"input": "ect 1"}}]),
    ]);
    assert!(assembler.is_conformant());
    let completion = assembler.into_completion();
    let message = &completion.choices()[0].message;
    assert!(message.has_unjudged_calls() && message.calls().is_empty());
    let value = completion.to_value();
    assert_eq!(value["choices"][0]["message"]["tool_calls"][0]["custom"], json!({"name": "sql", "input": "select 1"}));
}

#[test]
fn legacy_function_calls_are_assembled() {
    let assembler = assembled(&[
        delta(json!({"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": ""}})),
        delta(json!({"function_call": {"arguments": "{\"x\""}})),
        delta(json!({"function_call": {"arguments": ":1}"}})),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "function_call"}]}),
    ]);
    assert!(assembler.is_conformant() && assembler.is_finished());
    let completion = assembler.into_completion();
    let message = &completion.choices()[0].message;
    assert!(message.is_legacy());
    assert_eq!((message.calls()[0].name.as_str(), message.calls()[0].arguments.as_str()), ("f", "{\"x\":1}"));
    let repeated = [json!({"name": "f", "arguments": "{"}), json!({"name": "f", "arguments": "}"})];
    let assembler = assembled(&repeated.map(|call| delta(json!({ "function_call": call }))));
    assert!(!assembler.is_conformant());
    assert_eq!(assembler.into_completion().choices()[0].message.calls()[0].name, "f");
}

#[test]
fn stop_with_calls_stays_as_it_came() {
    let assembler = assembled(&[
        delta(
            json!({"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}),
        ),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
    ]);
    let completion = assembler.into_completion();
    assert_eq!(completion.choices()[0].finish_reason.as_deref(), Some("stop"));
    assert_eq!(completion.choices()[0].message.calls().len(), 1);
}

#[test]
fn text_refusal_and_reasoning_are_joined() {
    let assembler = assembled(&[
        delta(json!({"role": "assistant", "content": "", "reasoning_content": "h", "annotations": []})),
        delta(json!({"role": "assistant", "content": "Ü", "reasoning_content": "m", "refusal": null})),
        delta(
            json!({"content": "ber", "refusal": "n", "annotations": [{"url": "u"}], "reasoning_details": [{"text": "a", "index": 0}]}),
        ),
        delta(json!({"refusal": "o", "reasoning_details": [{"text": "b", "index": 0}]})),
    ]);
    let value = assembler.into_completion().to_value();
    assert_eq!(
        value["choices"][0]["message"],
        json!({"role": "assistant", "content": "Über", "reasoning_content": "hm", "annotations": [{"url": "u"}], "refusal": "no",
            "reasoning_details": [{"text": "a", "index": 0}, {"text": "b", "index": 0}]})
    );
}

#[test]
fn choices_are_kept_apart() {
    let part = |index: u32, content: &str| json!({"index": index, "delta": {"content": content}});
    let assembler = assembled(&[
        json!({"id": "c", "choices": [part(1, "b"), part(0, "a")]}),
        json!({"id": "c", "choices": [part(0, "a"), {"index": 1, "delta": {}, "finish_reason": "length", "stop_reason": 7}]}),
    ]);
    assert!(!assembler.is_finished());
    let completion = assembler.into_completion();
    let texts: Vec<_> = completion.choices().iter().map(|choice| choice.message.text().unwrap()).collect();
    assert_eq!(texts, ["aa", "b"]);
    assert_eq!(completion.choices()[0].finish_reason, None);
    let value = completion.to_value();
    assert_eq!((&value["choices"][0]["finish_reason"], &value["choices"][1]["stop_reason"]), (&Value::Null, &json!(7)));
}

#[test]
fn logprobs_of_the_pieces_are_joined() {
    let piece = |token: &str| json!({"choices": [{"index": 0, "delta": {"content": token}, "logprobs": {"content": [{"token": token}], "refusal": null}}]});
    let value = assembled(&[piece("a"), piece("b")]).into_completion().to_value();
    assert_eq!(value["choices"][0]["logprobs"], json!({"content": [{"token": "a"}, {"token": "b"}], "refusal": null}));
}

#[test]
fn the_head_comes_from_the_first_chunk_that_tells_it() {
    let filter = json!({"id": "", "model": "", "created": 0, "choices": [], "prompt_filter_results": [1]});
    let mut assembler = assembled(std::slice::from_ref(&filter));
    assert!(assembler.head().is_none());
    let mut first = delta(json!({"content": "a"}));
    first["system_fingerprint"] = json!("fp");
    assembler.take(&event(&first)).unwrap();
    assembler.take(&event(&json!({"id": "other", "choices": []}))).unwrap();
    let head = assembler.head().unwrap();
    assert_eq!((head.id.as_str(), head.model.as_str(), head.created), ("c", "m", 7));
    assert_eq!(head.extra.to_raw().get(), r#"{"system_fingerprint":"fp"}"#);
    assert_eq!(assembler.into_completion().to_value()["prompt_filter_results"], json!([1]));
}

#[test]
fn an_id_is_minted_where_the_stream_has_none() {
    let assembler = assembled(&[json!({"choices": [{"delta": {"content": "a"}}]})]);
    assert!(assembler.head().is_some_and(|head| head.id.starts_with("chatcmpl-") && head.created > 0));
    let empty = Assembler::new(10).into_completion();
    assert!(empty.choices().is_empty() && empty.id().is_some());
}

#[test]
fn answers_beyond_the_bounds_are_refused() {
    let many: Vec<Value> = (0..5000).map(|index| json!({ "index": index })).collect();
    assert!(Assembler::new(1 << 20).take(&event(&delta(json!({ "tool_calls": many })))).is_err());
    let many: Vec<Value> = (0..5000).map(|index| json!({"index": index, "delta": {}})).collect();
    assert!(Assembler::new(1 << 20).take(&event(&json!({ "choices": many }))).is_err());
}

#[test]
fn only_content_counts() {
    let mut assembler = Assembler::new(1_000);
    for _ in 0..100 {
        let mut piece = delta(json!({"content": "a"}));
        piece["choices"][0]["logprobs"] = json!({"content": [{"token": "a", "top_logprobs": "x".repeat(100)}]});
        piece["usage"] = json!({"total_tokens": 7, "padding": "x".repeat(100)});
        piece["obfuscation"] = json!("x".repeat(100));
        assembler.take(&event(&piece)).unwrap();
    }
    assert!(!assembler.is_full());
}

#[test]
fn a_stream_may_end_without_done_and_last_blank_line() {
    let text = concat!(
        "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\r\n\r\n",
        "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}"
    );
    let mut reader = SseReader::new(1000);
    let mut events = reader.push(Bytes::from_static(text.as_bytes())).unwrap();
    events.extend(reader.finish().unwrap());
    let mut assembler = Assembler::new(1000);
    for event in &events {
        assert!(matches!(assembler.take(event), Ok(StreamItem::Chunk(_))));
    }
    assert!(assembler.is_finished());
    assert_eq!(assembler.into_completion().choices()[0].message.text().as_deref(), Some("a"));
}

#[test]
fn a_name_may_follow_the_arguments_without_an_id() {
    for last in [json!({"index": 0, "function": {"name": "f"}}), json!({"function": {"name": "f", "arguments": ""}})] {
        tolerated(
            &[
                json!([{"index": 0, "id": "a", "type": "function", "function": {"arguments": "{\"x\":1}"}}]),
                json!([last]),
            ],
            &[("f", "{\"x\":1}")],
        );
    }
}

#[test]
fn pieces_that_repeat_all_arguments_are_one_call() {
    let piece = |id: Value, name: Value, arguments: &str| json!([{"index": 0, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}]);
    let whole = "{\"x\": \"a\", \"y\": [1]}";
    for (id, name) in
        [(json!("a"), json!("f")), (json!("a"), Value::Null), (Value::Null, json!("f")), (Value::Null, Value::Null)]
    {
        let pieces: Vec<Value> = [&whole[..4], &whole[..11], whole, whole]
            .iter()
            .enumerate()
            .map(|(at, text)| {
                piece(
                    if at == 0 { json!("a") } else { id.clone() },
                    if at == 0 { json!("f") } else { name.clone() },
                    text,
                )
            })
            .collect();
        let assembler = calls(&pieces);
        assert!(!assembler.is_conformant());
        let completion = assembler.into_completion();
        let sent: Vec<_> = completion.choices()[0]
            .message
            .calls()
            .iter()
            .map(|call| (call.name.as_str(), call.arguments.as_str()))
            .collect();
        assert_eq!(sent, [("f", whole)], "{id} {name}");
    }
}

#[test]
fn content_behind_the_finish_reason_is_not_conformant() {
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    for (chunks, is_conformant) in [
        (vec![delta(json!({"content": "a"})), end.clone()], true),
        (vec![end.clone(), delta(json!({"content": ""}))], true),
        (vec![end.clone(), delta(json!({"content": "a"}))], false),
        (vec![delta(json!({"content": "a"})), end.clone(), end.clone()], false),
    ] {
        assert_eq!(assembled(&chunks).is_conformant(), is_conformant, "{chunks:?}");
    }
    let empty = json!({"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": ""}]});
    assert!(!assembled(&[empty]).is_finished());
}

#[test]
fn content_beyond_its_limit_passes_and_calls_keep_positions() {
    let mut assembler = Assembler::new(100);
    let call = |index: u64, id: Value, arguments: &str| {
        event(&delta(
            json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": {"name": if id.is_null() { Value::Null } else { json!("f") }, "arguments": arguments}}]}),
        ))
    };
    assembler.take(&call(3, json!("a"), "{\"x\":\"")).unwrap();
    assert!(!assembler.is_full());
    assembler.take(&call(3, Value::Null, &"x".repeat(100))).unwrap();
    assert!(assembler.is_full());
    let begun = assembler.pass();
    assert!(!assembler.is_full());
    assert_eq!(begun.choices()[0].message.calls()[0].arguments.len(), 106);
    assembler.take(&call(3, Value::Null, "\"}")).unwrap();
    let passed = |assembler: &mut Assembler| {
        let passed: Vec<Value> = assembler
            .take_passed()
            .iter()
            .flat_map(|(_, calls)| calls)
            .map(|call| serde_json::from_str(call.to_raw().get()).unwrap())
            .collect();
        passed
    };
    assert_eq!(passed(&mut assembler), [json!({"index": 0, "function": {"arguments": "\"}"}})]);
    assembler.take(&call(9, json!("b"), "{}")).unwrap();
    assert_eq!(
        passed(&mut assembler),
        [json!({"index": 1, "id": "b", "type": "function", "function": {"name": "f", "arguments": "{}"}})]
    );
    let completion = assembler.into_completion();
    assert_eq!(completion.choices()[0].message.calls().len(), 2);
}
