//! Property tests for any call in any notation, and for any text.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::RngSeed;
use serde_json::{Map, Value};

use super::rendered::{NOTATIONS, Said, Values};
use crate::repair::rescue::testing::tools;
use crate::repair::rescue::{Reading, Rescued, Situation, notations, rescue};
use callwright_types::rules::Evidence;

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { rng_seed: RngSeed::Fixed(7), cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Generates strings with content that is difficult to parse.
fn string() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z ]{0,8}",
        "[a-z'\"{}()\\[\\]<>,:;=\\\\/#\n\té東😀_*|.-]{0,10}",
        select(vec![
            "", "It's", "say \"hi\"", "{\"a\": [1}", "f(a=1)", "// no comment", "line\nline", "\\", "\\n",
            "C:\\new\\table", "</s>", "null", "True", "3", "a...", "a_b*c*", "😀 東京", "`x`", "# x",
        ])
        .prop_map(str::to_owned),
    ]
    .prop_filter("dots stand for something that is left out", |text| text != "...")
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(|number| Value::from(f64::from(number) / 1024.0)),
        string().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec(("[a-z]{1,6}", inner), 0..3)
                .prop_map(|members| Value::from(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Generates calls of offered tools, with each parameter at most once.
fn calls(values: Values) -> BoxedStrategy<Vec<Said>> {
    let parameters: [(&str, &[&str]); 5] = [
        ("get_weather", &["city", "days", "hourly", "spot", "tags"]),
        ("orders.cancel", &["order_id", "reason"]),
        ("send-mail", &["to", "body"]),
        ("mcp__files__read", &["path"]),
        ("ping", &[]),
    ];
    let value = match values {
        Values::Json => value().boxed(),
        Values::Strings => string().prop_map(Value::from).boxed(),
    };
    let call = (select(parameters.to_vec()), vec(proptest::option::of(value), 5)).prop_map(|((name, keys), values)| {
        let arguments = keys.iter().zip(values).filter_map(|(key, value)| Some(((*key).to_owned(), value?))).collect();
        Said { name: name.to_owned(), arguments }
    });
    vec(call, 1..3)
        .prop_filter("the same call twice", |calls| {
            calls.iter().collect::<Vec<_>>().windows(2).all(|pair| pair.first() != pair.last())
        })
        .boxed()
}

/// Generates the index of a notation, calls that it can express, and their text.
fn written() -> impl Strategy<Value = (usize, Vec<Said>, String)> {
    (0..NOTATIONS.len()).prop_flat_map(|index| {
        let (_, values, write) = NOTATIONS[index];
        calls(values).prop_map(move |calls| {
            let text = write(&calls);
            (index, calls, text)
        })
    })
}

/// Whether the notation can represent the string. Strings with a notation's own markers cannot be represented.
fn is_expressible(index: usize, calls: &[Said]) -> bool {
    let (name, values, _) = NOTATIONS[index];
    let has_mark = |text: &str| text.contains(['<', '|', ']']) || text.contains("✿");
    let outer_newline = |text: &str| text.starts_with('\n') || text.ends_with('\n');
    let is_plain = |value: &Value| match value {
        Value::String(text) => !has_mark(text) && !outer_newline(text),
        _ => true,
    };
    let raw = values == Values::Strings || ["gemma 4", "xtml", "dsml"].contains(&name);
    !raw || calls.iter().flat_map(|call| call.arguments.values()).all(|value| {
        let text = value.to_string();
        is_plain(value) && (name != "gemma 4" || value.is_string() || !has_mark(&text.replace([']', '['], "")))
    })
}

fn said(rescued: &Rescued) -> Vec<Said> {
    rescued
        .calls
        .iter()
        .map(|call| Said {
            name: call.name.clone(),
            arguments: serde_json::from_str(&call.arguments)
                .unwrap_or_else(|error| panic!("{error}: {}", call.arguments)),
        })
        .collect()
}

/// Checks invariants of any text.
fn check_any(text: &str, situation: &Situation<'_>) -> Result<(), TestCaseError> {
    let tool_set = tools();
    let Reading::Calls(rescued) = rescue(text, tool_set, situation) else { return Ok(()) };
    prop_assert!(!rescued.calls.is_empty() && !rescued.spans.is_empty());
    prop_assert!(rescued.evidence <= situation.evidence && rescued.evidence > Evidence::Off);
    for call in &rescued.calls {
        prop_assert!(tool_set.get(&call.name).is_some(), "{}", call.name);
        let arguments: Result<Map<String, Value>, _> = serde_json::from_str(&call.arguments);
        prop_assert!(arguments.is_ok(), "{}", call.arguments);
    }
    let mut at = 0;
    for span in &rescued.spans {
        prop_assert!(at <= span.start && span.start < span.end && span.end <= text.len(), "{:?}", rescued.spans);
        prop_assert!(text.is_char_boundary(span.start) && text.is_char_boundary(span.end));
        at = span.end;
    }
    prop_assert!(rescued.text.len() <= text.len());
    Ok(())
}

const ANY: Situation<'static> = Situation::with(Evidence::Amid);
const CUT: Situation<'static> = Situation { cut_off: true, ..ANY };

/// Returns texts that parsers search for.
fn pieces() -> Vec<&'static str> {
    let marks = notations::NOTATIONS.iter().flat_map(|notation| notation.openers());
    let others = [
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        "\"",
        "'",
        "`",
        "```",
        "\n",
        "\\",
        ",",
        ":",
        "=",
        "get_weather",
        "ping()",
        "ping",
        "</tool_call>",
        "<think>",
        "</think>",
        "{\"name\": \"ping\", \"arguments\": {}}",
        "Action Input:",
        "é",
        "😀",
        "</",
        ">",
        "🗼\"",
        "\u{a0}",
        "{{",
        "<|",
        "|>",
        "<parameter=city>",
        "<arg_key>",
        "</function>",
        "print(",
        "...",
        "//",
        "/*",
        "#",
        "1e",
        "--",
        "0x",
        "\\u",
        "'''",
        "“",
    ];
    marks.chain(others).collect()
}

/// A change to a text at a position.
#[derive(Debug, Clone)]
enum Change {
    Cut,
    Delete(usize),
    Repeat(usize),
    Insert(&'static str),
}

fn change() -> impl Strategy<Value = (Index, Change)> {
    let change = prop_oneof![
        Just(Change::Cut),
        (1_usize..8).prop_map(Change::Delete),
        (1_usize..20).prop_map(Change::Repeat),
        select(pieces()).prop_map(Change::Insert),
        select(pieces()).prop_map(Change::Insert),
    ];
    (any::<Index>(), change)
}

fn changed(text: &str, (place, change): &(Index, Change)) -> String {
    let letters: Vec<char> = text.chars().collect();
    let at = place.index(letters.len() + 1);
    let (before, after) = letters.split_at(at);
    let before: String = before.iter().collect();
    let rest = |from: usize| -> String { after.iter().skip(from).collect() };
    match change {
        Change::Cut => before,
        Change::Delete(count) => before + &rest(*count),
        Change::Repeat(count) => before + &after.iter().take(*count).collect::<String>() + &rest(0),
        Change::Insert(piece) => before + piece + &rest(0),
    }
}

proptest! {
    #![proptest_config(config(1_000))]

    #[test]
    fn calls_come_out_as_they_were_written((index, calls, text) in written()) {
        prop_assume!(is_expressible(index, &calls));
        let (name, ..) = NOTATIONS[index];
        match rescue(&text, tools(), &ANY) {
            Reading::Calls(rescued) => prop_assert_eq!(said(&rescued), calls, "{}:\n{}", name, text),
            other => prop_assert!(false, "{name}:\n{text}\n{other:?}"),
        }
        check_any(&text, &ANY)?;
    }

    #[test]
    fn what_is_cut_off_is_never_completed((index, calls, text) in written(), place in any::<Index>()) {
        prop_assume!(is_expressible(index, &calls));
        let letters: Vec<(usize, char)> = text.char_indices().collect();
        let cut = letters[place.index(letters.len())].0;
        let text = &text[..cut];
        if let Reading::Calls(rescued) = rescue(text, tools(), &CUT) {
            let said = said(&rescued);
            prop_assert!(calls.starts_with(&said), "{}:\n{}\n{:?}", NOTATIONS[index].0, text, said);
        }
    }

    #[test]
    fn changed_calls_never_break_the_reader((_, _, text) in written(), changes in vec(change(), 1..5)) {
        let text = changes.iter().fold(text, |text, change| changed(&text, change));
        check_any(&text, &ANY)?;
        check_any(&text, &CUT)?;
        check_any(&text, &Situation::with(Evidence::Marked))?;
    }

    #[test]
    fn pieces_in_any_order_never_break_the_reader(parts in vec(select(pieces()), 0..40)) {
        let text = parts.concat();
        check_any(&text, &ANY)?;
        check_any(&text, &CUT)?;
    }

    #[test]
    fn any_text_never_breaks_the_reader(text in any::<String>()) {
        check_any(&text, &ANY)?;
        check_any(&text, &CUT)?;
    }

    #[test]
    fn no_call_begins_in_what_was_sent((_, _, text) in written(), prose in select(vec!["", "x = ", "1. ", "So be it.\n\n"]), place in any::<Index>()) {
        let text = format!("{prose}{text}");
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let sent = places[place.index(places.len())];
        let situation = Situation { sent, ..ANY };
        check_any(&text, &situation)?;
        if let Reading::Calls(rescued) = rescue(&text, tools(), &situation) {
            prop_assert!(rescued.spans.iter().all(|span| span.start >= sent), "{sent}: {:?}", rescued.spans);
            prop_assert!(rescued.text.is_empty() || rescued.text.starts_with(&text[..sent]), "{sent}: {:?}", rescued.text);
        }
    }
}

#[test]
fn no_cut_of_a_long_answer_completes_a_call() {
    let call = |name: &str, arguments: Value| Said {
        name: name.to_owned(),
        arguments: arguments.as_object().cloned().unwrap_or_default(),
    };
    let all = [
        call("get_weather", serde_json::json!({"city": "Paris", "tags": "a, b"})),
        call("send-mail", serde_json::json!({"to": "a@b.c", "body": "It's 3 o'clock (or so)"})),
    ];
    for (name, _, write) in NOTATIONS {
        let text = write(&all);
        for (cut, _) in text.char_indices() {
            let Reading::Calls(rescued) = rescue(&text[..cut], tools(), &CUT) else { continue };
            assert!(all.starts_with(&said(&rescued)), "{name}:\n{}\n{rescued:?}", &text[..cut]);
        }
    }
}
