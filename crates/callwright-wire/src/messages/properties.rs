//! Properties of every streamed answer, independent of its content and of its split into events.

use bytes::{Bytes, BytesMut};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use super::testing::{
    UNLIMITED, answer, assembled, call, completion_of, data, delta, ending, event, events, head, rest, start, stop,
};
use super::{MessagesAssembly, MessagesWriter};
use crate::parts::{EventRole, EventWriter, StreamForm};
use crate::{Completion, SseEvent, SseReader};

fn config() -> ProptestConfig {
    let rng_seed = prop::test_runner::RngSeed::Fixed(17);
    ProptestConfig { rng_seed, failure_persistence: None, cases: 300, ..ProptestConfig::default() }
}

fn text() -> impl Strategy<Value = String> {
    "[ -~ü€𝄞\n]{0,16}"
}

fn input() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[a-zé\"\\\\]{0,4}", text(), 0..4).prop_map(|map| json!(map))
}

fn block() -> impl Strategy<Value = Value> {
    let citations =
        prop::option::of(prop::collection::vec(text().prop_map(|cited| json!({ "cited_text": cited })), 0..3));
    prop_oneof![
        3 => (text(), citations).prop_map(|(text, citations)| match citations {
            Some(citations) => json!({"type": "text", "text": text, "citations": citations}),
            None => json!({"type": "text", "text": text}),
        }),
        2 => (text(), "[a-z]{0,4}").prop_map(|(text, signature)| {
            json!({"type": "thinking", "thinking": text, "signature": signature})
        }),
        1 => text().prop_map(|data| json!({"type": "redacted_thinking", "data": data})),
        3 => input().prop_map(|input| json!({"type": "tool_use", "id": "", "name": "f", "input": input, "x": 1.5})),
        1 => input().prop_map(|input| json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": input})),
        1 => text().prop_map(|text| json!({"type": "future", "nested": [{ "text": text }]})),
    ]
}

/// Answers whose calls have ids with this prefix.
fn any_answer(prefix: &'static str) -> impl Strategy<Value = Value> {
    let reason = prop_oneof![Just("end_turn"), Just("tool_use"), Just("max_tokens"), Just("pause_turn")];
    (prop::collection::vec(block(), 0..5), reason, 0_u64..100).prop_map(move |(mut blocks, reason, tokens)| {
        for (at, block) in blocks.iter_mut().enumerate().filter(|(_, block)| block["type"] == "tool_use") {
            block["id"] = json!(format!("{prefix}{at}"));
        }
        json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": blocks,
            "stop_reason": reason, "stop_sequence": null, "container": {"id": "c"},
            "usage": {"input_tokens": tokens, "cache_read_input_tokens": 2, "output_tokens": tokens + 1}})
    })
}

/// Returns the events of an answer, with its deltas split into characters by `cuts`.
fn upstream_events(answer: &Completion, cuts: &[Index]) -> Vec<SseEvent> {
    let whole = rest(&mut MessagesWriter::default(), answer, true);
    let mut events = Vec::new();
    for written in whole {
        let value = data(&written);
        let key = ["text", "thinking", "partial_json"].into_iter().find(|key| value["delta"][key].is_string());
        let Some(key) = key else {
            events.push(written);
            continue;
        };
        for piece in pieces(value["delta"][key].as_str().unwrap(), cuts) {
            let mut value = value.clone();
            value["delta"][key] = json!(piece);
            events.push(event(&value));
        }
    }
    events
}

fn pieces(text: &str, cuts: &[Index]) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(chars.len() + 1)).collect();
    at.sort_unstable();
    at.push(chars.len());
    let mut start = 0;
    at.into_iter().map(|end| chars[std::mem::replace(&mut start, end)..end].iter().collect()).collect()
}

fn take_all(events: &[SseEvent]) -> MessagesAssembly {
    let mut assembly = MessagesAssembly::new(UNLIMITED);
    for event in events {
        assert_ne!(assembly.take(event).unwrap(), EventRole::Error);
    }
    assembly
}

/// Whether the indexes of the blocks have no gaps, and each block is begun and ended once before the next one.
fn is_gapless(events: &[SseEvent]) -> bool {
    let mut bounds = Vec::new();
    for value in events.iter().map(data) {
        if matches!(value["type"].as_str(), Some("content_block_start" | "content_block_stop")) {
            bounds.push((value["index"].as_u64().unwrap() as usize, value["type"] == "content_block_start"));
        }
    }
    bounds.iter().enumerate().all(|(at, bound)| *bound == (at / 2, at % 2 == 0))
}

/// Forwards the reasoning at the beginning of a further attempt, as the proxy does. Returns its blocks and the written
/// events.
fn forward_reasoning(writer: &mut MessagesWriter, attempt: &Value, cuts: &[Index]) -> (Vec<Value>, Vec<SseEvent>) {
    let mut assembly = MessagesAssembly::new(UNLIMITED);
    let mut out = BytesMut::new();
    writer.begin_attempt(&mut out);
    for event in upstream_events(&answer(attempt), cuts) {
        match assembly.take(&event).unwrap() {
            EventRole::Head => {}
            EventRole::Reasoning => assert!(writer.forward_further(&event, &mut out)),
            _ => break,
        }
    }
    let is_reasoning = |block: &&Value| matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"));
    let blocks = attempt["content"].as_array().unwrap().iter().take_while(is_reasoning).cloned().collect();
    (blocks, events(&out))
}

fn texts_of(blocks: &[Value]) -> String {
    let texts = blocks.iter().filter(|block| block["type"] == "text");
    texts.map(|block| block["text"].as_str().unwrap()).collect()
}

/// Returns the content after a second attempt: all blocks of the first, and those of the second without the text that
/// the client has.
fn joined_blocks(first: &[Value], second: &[Value], known_text: &str) -> Vec<Value> {
    let mut blocks = first.to_vec();
    let mut known = known_text;
    for block in second {
        let rest = block["text"].as_str().filter(|_| block["type"] == "text" && !known.is_empty());
        match rest.and_then(|text| text.strip_prefix(known)) {
            None => blocks.push(block.clone()),
            Some("") => known = "",
            Some(rest) => {
                let mut block = block.clone();
                block["text"] = json!(rest);
                blocks.push(block);
                known = "";
            }
        }
    }
    blocks
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_written_answer_assembles_to_itself(value in any_answer("a")) {
        let events = rest(&mut MessagesWriter::default(), &answer(&value), true);
        prop_assert!(is_gapless(&events));
        let assembly = take_all(&events);
        prop_assert!(assembly.is_conformant() && assembly.is_finished());
        let texts = value["content"].as_array().unwrap().iter().filter(|block| block["type"] == "text");
        let text: String = texts.map(|block| block["text"].as_str().unwrap().to_owned()).collect();
        prop_assert_eq!(assembly.text(), text);
        prop_assert_eq!(completion_of(assembly), value);
    }

    #[test]
    fn the_rest_of_an_answer_completes_any_beginning(
        value in any_answer("a"),
        cuts in prop::collection::vec(any::<Index>(), 0..4),
        end in any::<Index>(),
    ) {
        let completion = answer(&value);
        let mut all = upstream_events(&completion, &cuts);
        all.truncate(end.index(all.len() + 1));
        prop_assert!(take_all(&all).is_conformant());
        let mut writer = MessagesWriter::default();
        all.iter().for_each(|event| writer.forwarded(event));
        all.extend(rest(&mut writer, &completion, true));
        prop_assert!(is_gapless(&all));
        let assembly = take_all(&all);
        prop_assert!(assembly.is_conformant() && assembly.is_finished());
        prop_assert_eq!(completion_of(assembly), value);
    }

    #[test]
    fn a_second_attempt_follows_any_beginning_of_the_first(
        first in any_answer("a"),
        second in any_answer("b"),
        repeats in any::<bool>(),
        cuts in prop::collection::vec(any::<Index>(), 0..4),
        end in any::<Index>(),
    ) {
        let mut all = upstream_events(&answer(&first), &cuts);
        // The end of the first attempt is not forwarded.
        all.truncate(end.index(all.len() - 1));
        let begun = take_all(&all);
        let known_text = begun.text().to_owned();
        let begun = completion_of(begun);
        let mut second = second;
        if repeats {
            let text = format!("{known_text}more");
            second["content"].as_array_mut().unwrap().insert(0, json!({"type": "text", "text": text}));
        }
        let mut writer = MessagesWriter::default();
        all.iter().for_each(|event| writer.forwarded(event));
        all.extend(rest(&mut writer, &answer(&second), false));
        prop_assert!(is_gapless(&all));
        let assembly = take_all(&all);
        prop_assert!(assembly.is_conformant() && assembly.is_finished());
        let whole = completion_of(assembly);
        let expected =
            joined_blocks(begun["content"].as_array().unwrap(), second["content"].as_array().unwrap(), &known_text);
        prop_assert_eq!(&whole["content"], &json!(expected));
        prop_assert_eq!((&whole["stop_reason"], &whole["usage"]), (&second["stop_reason"], &second["usage"]));
    }

    #[test]
    fn reasoning_of_further_attempts_continues_the_stream(
        first in any_answer("a"),
        others in prop::collection::vec(any_answer("b"), 1..4),
        selected in any::<Index>(),
        cuts in prop::collection::vec(any::<Index>(), 0..4),
        end in any::<Index>(),
    ) {
        let mut all = upstream_events(&answer(&first), &cuts);
        all.truncate(end.index(all.len() - 1).max(1));
        let begun = take_all(&all);
        let known_text = begun.text().to_owned();
        let begun = completion_of(begun)["content"].as_array().unwrap().clone();
        let mut writer = MessagesWriter::default();
        all.iter().for_each(|event| writer.forwarded(event));
        let (mut shown, mut leading) = (begun.clone(), Vec::new());
        for other in &others {
            let (blocks, written) = forward_reasoning(&mut writer, other, &cuts);
            let kept = blocks.iter().filter(|block| block["data"] != "" && (block["thinking"] != "" || block["signature"] != ""));
            prop_assert_eq!(writer.trailing_reasoning().len(), kept.count());
            leading.push(blocks.len());
            shown.extend(blocks);
            all.extend(written);
        }
        let selected = selected.index(others.len() + 1);
        let value = if selected == 0 { &first } else { &others[selected - 1] };
        let mut out = BytesMut::new();
        writer.rest(&answer(value), Some(selected), &mut out);
        all.extend(events(&out));
        prop_assert!(is_gapless(&all));
        let assembly = take_all(&all);
        prop_assert!(assembly.is_conformant() && assembly.is_finished());
        let whole = completion_of(assembly)["content"].as_array().unwrap().clone();
        prop_assert_eq!(&whole[..shown.len()], &shown[..]);
        let own = value["content"].as_array().unwrap();
        if selected == 0 {
            prop_assert_eq!(texts_of(&whole), texts_of(own));
            prop_assert!(whole.ends_with(&own[begun.len()..]));
        } else {
            let rest = joined_blocks(&[], &own[leading[selected - 1]..], &known_text);
            prop_assert_eq!(&whole[shown.len()..], &rest[..]);
        }
    }

    #[test]
    fn any_chunking_of_the_bytes_gives_the_same_answer(
        value in any_answer("a"),
        cuts in prop::collection::vec(any::<Index>(), 0..8),
    ) {
        let mut bytes = BytesMut::new();
        MessagesWriter::default().rest(&answer(&value), Some(0), &mut bytes);
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        at.sort_unstable();
        at.push(bytes.len());
        let (mut reader, mut assembly, mut start) = (SseReader::new(UNLIMITED), MessagesAssembly::new(UNLIMITED), 0);
        for end in at {
            let piece = Bytes::copy_from_slice(&bytes[std::mem::replace(&mut start, end)..end]);
            for event in reader.push(piece).unwrap() {
                assembly.take(&event).unwrap();
            }
        }
        prop_assert!(assembly.is_conformant());
        prop_assert_eq!(completion_of(assembly), value);
    }

    #[test]
    fn hostile_events_never_panic_and_memory_is_bounded(
        events in prop::collection::vec(hostile_event(), 0..24),
        answer in any_answer("a"),
        is_same in any::<bool>(),
        limit in 0_usize..2000,
    ) {
        let mut assembly = MessagesAssembly::new(limit);
        let mut writer = MessagesWriter::default();
        let mut text = String::new();
        for event in &events {
            writer.forwarded(event);
            if assembly.take(event).is_err() {
                break;
            }
            prop_assert!(assembly.text().starts_with(&text), "the text only grows");
            assembly.text().clone_into(&mut text);
        }
        prop_assert!(text.len() <= limit);
        let completion = Box::new(assembly).into_completion();
        // A byte becomes at most six, and a block has at most its type and an empty input of its own.
        prop_assert!(completion.size() <= 6 * limit + 100 * events.len());
        let ids: Vec<&str> =
            completion.choices()[0].message.calls().iter().map(|call| call.id.as_str()).collect();
        let distinct: std::collections::HashSet<&&str> = ids.iter().collect();
        prop_assert_eq!(distinct.len(), ids.len());
        let mut out = BytesMut::new();
        writer.rest(&super::testing::answer(&answer), is_same.then_some(0), &mut out);
        super::testing::events(&out);
    }
}

fn hostile_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        Just(json!(-1)),
        Just(json!(u64::MAX)),
        Just(json!("{")),
        Just(json!("}")),
        Just(json!([])),
        Just(json!([{}])),
        Just(json!({})),
        Just(json!({"type": "text_delta", "text": 5})),
        Just(json!({"type": 5})),
    ]
}

fn hostile_event() -> impl Strategy<Value = SseEvent> {
    let delta_of = prop_oneof![
        Just(json!({"type": "text_delta", "text": "a\u{1}"})),
        Just(json!({"type": "thinking_delta", "thinking": "b", "signature": "s"})),
        Just(json!({"type": "signature_delta", "signature": ["s"]})),
        Just(json!({"type": "input_json_delta", "partial_json": "{\"x\":"})),
        Just(json!({"type": "input_json_delta", "partial_json": {"x": 1}})),
        Just(json!({"type": "citations_delta", "citation": 5})),
        Just(json!({"type": "future_delta", "text": "c", "input": [1], "type2": {}})),
        Just(json!({"text": "d"})),
        hostile_value(),
    ];
    let block_of = prop_oneof![
        Just(json!({"type": "text", "text": "a"})),
        Just(json!({"type": "thinking"})),
        Just(call("a", "f")),
        Just(json!({"type": "tool_use", "input": "x"})),
        Just(json!({"type": "future", "content": []})),
        hostile_value(),
    ];
    let event_of = prop_oneof![
        1 => Just(head()),
        3 => (0_usize..3, block_of).prop_map(|(index, block)| start(index, block)),
        4 => (0_usize..3, delta_of).prop_map(|(index, piece)| delta(index, piece)),
        2 => (0_usize..3).prop_map(stop),
        1 => prop_oneof![Just("end_turn"), Just("tool_use")].prop_map(|reason| ending(reason)[0].clone()),
        1 => Just(json!({"type": "message_stop"})),
        1 => hostile_value(),
    ];
    let key =
        prop_oneof![Just("type"), Just("index"), Just("delta"), Just("content_block"), Just("message"), Just("usage"),];
    let mutation = prop::option::weighted(0.3, (key, hostile_value()));
    let mutated = (event_of, mutation).prop_map(|(mut value, mutation)| {
        if let (Some(fields), Some((key, new))) = (value.as_object_mut(), mutation) {
            fields.insert(key.to_owned(), new);
        }
        event(&value)
    });
    prop_oneof![
        8 => mutated,
        1 => "[ -~]{0,12}".prop_map(|data| SseEvent { raw: format!("data: {data}\n\n").into(), data: Some(data) }),
    ]
}

#[test]
fn deep_nesting_is_kept_without_recursion() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let block = format!(r#"{{"type":"future","deep":{deep}}}"#);
    let start = format!(r#"{{"type":"content_block_start","index":0,"content_block":{block}}}"#);
    let piece = json!({"type": "input_json_delta", "partial_json": format!("{{\"x\":{deep}}}")});
    let mut assembly = assembled(&[head()]);
    assembly.take(&SseEvent { raw: "event: content_block_start\n\n".into(), data: Some(start) }).unwrap();
    let call = [stop(0), super::testing::start(1, call("a", "f")), delta(1, piece), stop(1)];
    for data in call.into_iter().chain(ending("tool_use")) {
        assembly.take(&event(&data)).unwrap();
    }
    assert!(assembly.is_conformant());
    let completion = Box::new(assembly).into_completion();
    let mut out = BytesMut::new();
    MessagesWriter::default().rest(&completion, Some(0), &mut out);
    let written = take_all(&events(&out));
    assert!(written.is_conformant());
    assert_eq!(Box::new(written).into_completion().size(), completion.size());
    let request = super::testing::request(&format!(
        r#"{{"messages":[{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"a","content":{deep}}}]}}]}}"#
    ));
    assert_eq!(request.messages().len(), 1);
}
