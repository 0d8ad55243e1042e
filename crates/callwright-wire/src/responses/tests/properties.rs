//! Properties of every answer and of every split of its stream.

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use http::{HeaderMap, StatusCode};

fn config(seed: u64) -> ProptestConfig {
    let rng_seed = prop::test_runner::RngSeed::Fixed(seed);
    ProptestConfig { rng_seed, failure_persistence: None, cases: 300, ..ProptestConfig::default() }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[ -~ü€𝄞\n]{0,20}"]
}

/// An item without its id.
fn item() -> impl Strategy<Value = Value> {
    let texts = || prop::collection::vec(text(), 0..3);
    prop_oneof![
        4 => texts().prop_map(|texts| {
            let parts: Vec<Value> = texts.iter().map(|text| text_part(text)).collect();
            json!({"type": "message", "status": "completed", "role": "assistant", "content": parts, "phase": "final_answer"})
        }),
        1 => text().prop_map(|text| json!({"type": "message", "status": "completed", "role": "assistant",
            "content": [text_part("x"), {"type": "refusal", "refusal": text}, {"type": "later", "x": 1}]})),
        2 => (texts(), texts(), any::<bool>()).prop_map(|(summary, content, is_encrypted)| {
            let parts = |kind: &str, texts: Vec<String>| -> Vec<Value> {
                texts.iter().map(|text| json!({"type": kind, "text": text})).collect()
            };
            let mut item = json!({"type": "reasoning", "summary": parts("summary_text", summary)});
            if !content.is_empty() {
                item["content"] = json!(parts("reasoning_text", content));
            }
            if is_encrypted {
                item["encrypted_content"] = json!("gAAA");
            }
            item
        }),
        3 => text().prop_map(|text| json!({"type": "function_call", "name": "f", "arguments": text,
            "status": "completed", "namespace": "ns"})),
        1 => text().prop_map(|text| json!({"type": "custom_tool_call", "name": "sql", "input": text})),
        1 => Just(json!({"type": "web_search_call", "status": "completed", "action": {"type": "search"}})),
        1 => Just(json!({"type": "shell_call", "status": "completed", "action": {"commands": ["ls"]}})),
    ]
}

/// The items of an answer, with ids that begin with `prefix`.
fn items(prefix: &'static str) -> impl Strategy<Value = Vec<Value>> {
    prop::collection::vec(item(), 0..5).prop_map(move |items| with_ids(items, prefix))
}

fn with_ids(mut items: Vec<Value>, prefix: &str) -> Vec<Value> {
    for (number, item) in items.iter_mut().enumerate() {
        item["id"] = json!(format!("{prefix}{number}"));
        if item["type"].as_str().is_some_and(|kind| kind.ends_with("_call") && kind != "web_search_call") {
            item["call_id"] = json!(format!("call_{prefix}{number}"));
        }
    }
    items
}

fn any_answer(prefix: &'static str) -> impl Strategy<Value = Completion> {
    (items(prefix), any::<bool>()).prop_map(|(items, is_complete)| match is_complete {
        true => answer(&items),
        false => {
            let details = json!({"reason": "max_output_tokens"});
            answer_with(&items, &json!({"status": "incomplete", "incomplete_details": details}))
        }
    })
}

/// Returns the events of an answer with its deltas in pieces.
fn conformant_events(answer: &Completion, cuts: &[Index]) -> Vec<Value> {
    let mut events = Vec::new();
    for event in values(&rest(b"", answer, true)) {
        let Some(delta) = event["delta"].as_str() else {
            events.push(event);
            continue;
        };
        let chars: Vec<char> = delta.chars().collect();
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(chars.len() + 1)).collect();
        at.sort_unstable();
        at.push(chars.len());
        let mut start = 0;
        for end in at {
            let mut piece = event.clone();
            piece["delta"] = json!(chars[start..end].iter().collect::<String>());
            events.push(piece);
            start = end;
        }
    }
    events
}

/// Returns the output without the text that the client has, as the writer is to write it.
fn without_text(output: Vec<Value>, mut known: &str) -> Vec<Value> {
    let mut written = Vec::new();
    for mut item in output {
        let content = item["content"].as_array().cloned().unwrap_or_default();
        let is_text = |part: &Value| part["type"] == "output_text";
        let text: String = content.iter().filter(|part| is_text(part)).filter_map(text_of).collect();
        let has_text = item["type"] == "message" && (content.is_empty() || content.iter().any(is_text));
        if !known.is_empty() && has_text && text.starts_with(known) {
            let further = text[known.len()..].to_owned();
            known = "";
            let others: Vec<Value> = content.into_iter().filter(|part| !is_text(part)).collect();
            if further.is_empty() && others.is_empty() {
                continue;
            }
            let first = Some(further).filter(|further| !further.is_empty()).map(|text| text_part(&text));
            item["content"] = json!(first.into_iter().chain(others).collect::<Vec<_>>());
        }
        written.push(item);
    }
    written
}

proptest! {
    #![proptest_config(config(21))]

    #[test]
    fn a_written_answer_is_conformant_and_assembles_to_itself(answer in any_answer("a")) {
        let bytes = rest(b"", &answer, true);
        let response = strict_response(&values(&bytes));
        prop_assert_eq!(&response, &answer.to_value());
        let (assembly, _) = assembled(&bytes);
        prop_assert!(assembly.is_conformant() && assembly.is_finished());
        let message = answer.choices()[0].message.clone();
        prop_assert_eq!(assembly.text(), message.text().unwrap_or_default());
        prop_assert_eq!(assembly.has_calls(), !message.calls().is_empty() || message.has_unjudged_calls());
        let completion = assembly.into_completion();
        prop_assert_eq!(completion.to_value(), answer.to_value());
        prop_assert_eq!(&completion.choices()[0].finish_reason, &answer.choices()[0].finish_reason);
    }

    #[test]
    fn any_beginning_of_a_stream_is_completed(
        answer in any_answer("a"),
        cuts in prop::collection::vec(any::<Index>(), 0..3),
        length in any::<Index>(),
    ) {
        let events = conformant_events(&answer, &cuts);
        let begun = &events[..length.index(events.len() + 1)];
        let mut bytes = stream_of(begun);
        bytes.extend(rest(&bytes, &answer, true));
        let all = values(&bytes);
        prop_assert_eq!(&all[..begun.len()], &values(&stream_of(begun))[..]);
        prop_assert_eq!(strict_response(&all), answer.to_value());
        let (assembly, _) = assembled(&bytes);
        prop_assert!(assembly.is_conformant());
        prop_assert_eq!(assembly.into_completion().to_value(), answer.to_value());
    }

    #[test]
    fn another_attempt_follows_the_beginning_of_the_first(
        first in any_answer("a"),
        second in any_answer("b"),
        repeats in any::<bool>(),
        cuts in prop::collection::vec(any::<Index>(), 0..3),
        length in any::<Index>(),
    ) {
        let second = if repeats { answer(&with_ids(output_of(&first), "b")) } else { second };
        let events = conformant_events(&first, &cuts);
        let begun = &events[..length.index(events.len())];
        let mut bytes = stream_of(begun);
        let (known, _) = assembled(&bytes);
        bytes.extend(rest(&bytes, &second, false));
        let response = strict_response(&values(&bytes));
        let (assembly, _) = assembled(&bytes);
        prop_assert!(assembly.is_conformant());
        let output = response["output"].as_array().unwrap();
        let count = begun.iter().filter(|event| event["type"] == "response.output_item.added").count();
        let done: Vec<&Value> = begun.iter().filter(|event| event["type"] == "response.output_item.done").collect();
        prop_assert!(done.iter().zip(output).all(|(event, item)| event["item"] == *item));
        let added = output_of(&first);
        prop_assert!(output[..count].iter().zip(&added).all(|(item, own)| item["id"] == own["id"]));
        prop_assert_eq!(&output[count..], &without_text(output_of(&second), known.text())[..]);
        prop_assert_eq!(&response["usage"], &second.to_value()["usage"]);
    }

    #[test]
    fn reasoning_of_further_attempts_continues_the_stream(
        first in any_answer("a"),
        others in prop::collection::vec(prop::collection::vec(item(), 0..5), 1..4),
        selected in any::<Index>(),
        cuts in prop::collection::vec(any::<Index>(), 0..3),
        length in any::<Index>(),
    ) {
        let events = conformant_events(&first, &cuts);
        let begun = &events[..length.index(events.len() - 2) + 2];
        let mut bytes = stream_of(begun);
        let (known, _) = assembled(&bytes);
        let mut writer = ResponsesWriter::default();
        sse_events(&bytes).iter().for_each(|event| writer.forwarded(event));
        let count = begun.iter().filter(|event| event["type"] == "response.output_item.added").count();
        let (mut shown, mut leading) = (Vec::new(), Vec::new());
        let others: Vec<Completion> = others
            .into_iter()
            .enumerate()
            .map(|(number, items)| answer(&with_ids(items, &format!("b{number}x"))))
            .collect();
        for other in &others {
            let mut out = BytesMut::new();
            writer.begin_attempt(&mut out);
            let mut assembly = ResponsesAssembly::new(MAX_BYTES);
            for event in sse_events(&stream_of(&conformant_events(other, &cuts))) {
                match assembly.take(&event).unwrap() {
                    EventRole::Head => {}
                    EventRole::Reasoning => prop_assert!(writer.forward_further(&event, &mut out)),
                    _ => break,
                }
            }
            let items: Vec<Value> = output_of(other).into_iter().take_while(|item| item["type"] == "reasoning").collect();
            prop_assert_eq!(writer.trailing_reasoning().len(), items.len());
            leading.push(items.len());
            shown.extend(items);
            bytes.extend(out);
        }
        let selected = selected.index(others.len() + 1);
        let own = if selected == 0 { &first } else { &others[selected - 1] };
        let mut out = BytesMut::new();
        writer.rest(own, Some(selected), &mut out);
        bytes.extend(out);
        let response = strict_response(&values(&bytes));
        let (assembly, _) = assembled(&bytes);
        prop_assert!(assembly.is_conformant());
        let output = response["output"].as_array().unwrap();
        prop_assert_eq!(&output[count..count + shown.len()], &shown[..]);
        let rest = &output[count + shown.len()..];
        if selected == 0 {
            prop_assert!(rest.ends_with(&output_of(&first)[count..]));
            let texts = |items: &[Value]| answer(items).choices()[0].message.text().unwrap_or_default();
            prop_assert_eq!(texts(output), texts(&output_of(&first)));
        } else {
            prop_assert_eq!(rest, &without_text(output_of(own).split_off(leading[selected - 1]), known.text())[..]);
        }
    }

    #[test]
    fn any_chunking_of_a_stream_assembles_to_the_same_answer(
        answer in any_answer("a"),
        cuts in prop::collection::vec(any::<Index>(), 0..8),
    ) {
        let bytes = rest(b"", &answer, true);
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        let mut reader = SseReader::new(MAX_BYTES);
        let mut assembly = Box::new(ResponsesAssembly::new(MAX_BYTES));
        for range in at.windows(2) {
            for event in reader.push(Bytes::copy_from_slice(&bytes[range[0]..range[1]])).unwrap() {
                assembly.take(&event).unwrap();
            }
        }
        prop_assert!(assembly.is_conformant());
        prop_assert_eq!(assembly.into_completion().to_value(), answer.to_value());
    }

    #[test]
    fn hostile_events_never_panic(events in prop::collection::vec(hostile_event(), 0..25), answer in any_answer("a"), is_same in any::<bool>()) {
        let mut assembly = Box::new(ResponsesAssembly::new(MAX_BYTES));
        let mut writer = ResponsesWriter::default();
        let mut grown = String::new();
        for data in events {
            let event = SseEvent { raw: Bytes::new(), data: Some(data) };
            let _ = assembly.take(&event);
            writer.forwarded(&event);
            prop_assert!(assembly.text().starts_with(&grown));
            assembly.text().clone_into(&mut grown);
        }
        let _ = (assembly.is_conformant(), assembly.is_finished(), assembly.has_calls());
        let completion = assembly.into_completion();
        let mut out = BytesMut::new();
        writer.clone().rest(&completion, Some(0), &mut out);
        writer.clone().rest(&answer, is_same.then_some(0), &mut out);
        writer.error(b"{\"error\":[]}", StatusCode::BAD_GATEWAY, &HeaderMap::new(), &mut out);
        prop_assert!(!values(&out).is_empty());
    }
}

/// Data of an event with plausible members of wrong types and values.
fn hostile_event() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "response.created", "response.in_progress", "response.output_item.added", "response.output_item.done",
        "response.content_part.added", "response.content_part.done", "response.output_text.delta",
        "response.output_text.done", "response.output_text.annotation.added", "response.refusal.delta",
        "response.reasoning_text.delta", "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.done", "response.function_call_arguments.delta",
        "response.function_call_arguments.done", "response.custom_tool_call_input.delta",
        "response.web_search_call.completed", "response.completed", "response.failed", "",
    ]);
    let members = prop::collection::vec(
        (
            prop::sample::select(vec![
                "item", "part", "response", "item_id", "output_index", "content_index", "summary_index", "delta",
                "text", "arguments", "annotation", "sequence_number",
            ]),
            hostile_value(),
        ),
        0..6,
    );
    let event = (name, members).prop_map(|(name, members)| {
        let mut event = json!({ "type": name });
        for (key, value) in members {
            event[key] = value;
        }
        event.to_string()
    });
    let deep =
        || format!("{{\"type\":\"response.output_item.added\",\"item\":{}{}}}", "[".repeat(9000), "]".repeat(9000));
    let fixed = prop::sample::select(vec!["[DONE]".to_owned(), "[]".to_owned(), "{".to_owned(), String::new(), deep()]);
    prop_oneof![12 => event, 1 => fixed]
}

fn hostile_value() -> impl Strategy<Value = Value> {
    let index = prop::sample::select(vec![json!(0), json!(1), json!(u64::MAX), json!(-1), json!(0.5), json!("0")]);
    let word = prop::sample::select(vec![json!("a0"), json!("a1"), json!(""), json!("ab"), json!("{}")]);
    let kind = prop::sample::select(vec!["message", "reasoning", "function_call", "custom_tool_call", "x_call", ""]);
    let part = (text(), any::<bool>()).prop_map(|(text, is_text)| match is_text {
        true => text_part(&text),
        false => json!({"type": "summary_text", "text": text}),
    });
    let parts = prop::collection::vec(part, 0..3);
    let item = (kind, word.clone(), parts, word.clone()).prop_map(|(kind, id, parts, arguments)| {
        json!({"type": kind, "id": id, "call_id": id, "name": "f", "content": parts, "summary": parts,
            "arguments": arguments, "status": "in_progress"})
    });
    let item = item.boxed();
    let items = prop::collection::vec(item.clone(), 0..4).prop_map(|items| json!({"id": "r", "output": items}));
    prop_oneof![index, word, item, items, Just(json!(null)), Just(json!([[]]))]
}
