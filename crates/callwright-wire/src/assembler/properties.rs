//! Properties of every completion, independent of its split into deltas.

use proptest::prelude::*;

use serde_json::{Value, json};

use super::tests::{assembled, delta};
use super::*;
use crate::{SseReader, StreamItem, emit};
use callwright_types::Call;

fn config() -> ProptestConfig {
    let rng_seed = prop::test_runner::RngSeed::Fixed(11);
    ProptestConfig { rng_seed, failure_persistence: None, cases: 500, ..ProptestConfig::default() }
}

fn call() -> impl Strategy<Value = Call> {
    ("[a-zA-Z0-9]{9}", "[a-z_.-]{1,12}", any_arguments()).prop_map(|(id, name, arguments)| Call { id, name, arguments })
}

fn any_arguments() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        prop::collection::btree_map("[a-zé\"\\\\]{0,4}", "[ -~ü€𝄞\n]{0,12}", 0..4)
            .prop_map(|map| serde_json::to_string(&map).unwrap()),
        "[ -~]{0,20}",
    ]
}

/// Calls with unique ids, as from a conformant upstream.
fn distinct_calls() -> impl Strategy<Value = Vec<Call>> {
    prop::collection::vec(call(), 0..4).prop_map(|mut calls| {
        for (index, call) in calls.iter_mut().enumerate() {
            call.id.push_str(&index.to_string());
        }
        calls
    })
}

fn pieces(text: &str, cuts: &[prop::sample::Index]) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(chars.len() + 1)).collect();
    at.sort_unstable();
    at.push(chars.len());
    let mut start = 0;
    at.into_iter().map(|end| chars[std::mem::replace(&mut start, end)..end].iter().collect()).collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_split_into_deltas_assembles_to_the_same_message(
        text in "[ -~ü€𝄞\n]{0,40}",
        calls in distinct_calls(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        with_index in any::<bool>(),
    ) {
        let mut chunks = vec![delta(json!({"role": "assistant"}))];
        chunks.extend(pieces(&text, &cuts).into_iter().map(|piece| delta(json!({ "content": piece }))));
        for (index, call) in calls.iter().enumerate() {
            let index = with_index.then_some(index);
            chunks.push(delta(json!({"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}]})));
            for piece in pieces(&call.arguments, &cuts) {
                chunks.push(delta(json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})));
            }
        }
        let assembler = assembled(&chunks);
        prop_assert!(assembler.is_conformant() == (with_index || calls.is_empty()));
        let completion = assembler.into_completion();
        let message = &completion.choices()[0].message;
        prop_assert_eq!(message.text().unwrap_or_default(), text);
        prop_assert_eq!(message.calls(), calls);
        prop_assert!(message.is_well_formed());
    }

    #[test]
    fn emitted_deltas_assemble_to_the_same_conformant_calls(
        text in "[ -~ü€𝄞\n]{0,40}",
        calls in distinct_calls(),
        legacy in any::<bool>(),
    ) {
        let head = StreamHead { id: "c".into(), model: "m".into(), created: 1, extra: RawObject::default() };
        let mut bytes = emit::role(&head, 0).to_vec();
        bytes.extend_from_slice(emit::KEEP_ALIVE);
        bytes.extend_from_slice(&emit::text(&head, 0, &text));
        let mut answer = crate::Completion::of_text(callwright_types::Protocol::Chat, "m", "");
        answer.choices_mut()[0].rescue("", &calls, legacy);
        let events = emit::message_calls(&head, 0, &answer.choices()[0].message);
        events.iter().for_each(|event| bytes.extend_from_slice(event));
        bytes.extend_from_slice(&emit::finish(&head, 0, "tool_calls"));
        bytes.extend_from_slice(emit::DONE);
        let mut assembler = Assembler::new(1 << 20);
        let mut done = false;
        for event in SseReader::new(1 << 20).push(bytes.into()).unwrap() {
            match assembler.take(&event).unwrap() {
                StreamItem::Chunk(_) => {}
                StreamItem::Done => done = true,
                other => prop_assert!(false, "{:?}", other),
            }
        }
        prop_assert!(done && assembler.is_conformant() && assembler.is_finished());
        let completion = assembler.into_completion();
        let message = &completion.choices()[0].message;
        prop_assert_eq!(message.text(), Some(text));
        let plain = |call: &Call| (call.name.clone(), call.arguments.clone());
        let expected: Vec<_> = calls.iter().take(if legacy { 1 } else { usize::MAX }).map(plain).collect();
        prop_assert_eq!(message.calls().iter().map(plain).collect::<Vec<_>>(), expected);
        if !legacy {
            prop_assert_eq!(message.calls(), calls);
        }
    }

    #[test]
    fn hostile_deltas_never_panic_and_every_call_has_its_own_id(
        lists in prop::collection::vec(prop::collection::vec(hostile_piece(), 0..4), 0..8),
    ) {
        let chunks: Vec<Value> = lists.into_iter().map(|list| delta(json!({ "tool_calls": list }))).collect();
        let completion = assembled(&chunks).into_completion();
        let ids: Vec<&str> = completion.choices().iter().flat_map(|choice| choice.message.calls()).map(|call| call.id.as_str()).collect();
        let distinct: std::collections::HashSet<&&str> = ids.iter().collect();
        prop_assert_eq!(distinct.len(), ids.len());
    }
}

fn hostile_piece() -> impl Strategy<Value = Value> {
    let id = prop::option::of("[ab]{0,1}");
    let name = prop::option::of("[fg]{0,2}");
    let arguments = prop_oneof![
        Just(json!("{")),
        Just(json!("}")),
        Just(json!("{}")),
        Just(json!({})),
        Just(json!("")),
        Just(json!(null)),
        Just(json!(5))
    ];
    let index = prop::option::of(0_u64..3);
    prop_oneof![
        8 => (index, id, name, arguments).prop_map(|(index, id, name, arguments)| json!({"index": index, "id": id, "function": {"name": name, "arguments": arguments}})),
        1 => Just(json!(null)),
        1 => Just(json!({"index": -1, "function": []})),
    ]
}
