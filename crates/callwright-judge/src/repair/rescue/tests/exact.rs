//! Tests that values between tags and tokens are byte-exact, whole and streamed, also if they contain the notation's
//! own markers. Such a value is parsed verbatim, or the answer is a fault (E1), but it is never another call.

use std::cell::Cell;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::RngSeed;
use serde_json::{Map, Value};

use crate::repair::rescue::hold::{Hold, HoldRules, Starts};
use crate::repair::rescue::testing::tools;
use crate::repair::rescue::{Reading, Situation, rescue};
use callwright_types::rules::Evidence;

/// A name, and a function that writes a call of `send-mail` with these values of `to` and `body`.
type Template = (&'static str, fn(&str, &str) -> String);

/// The published chat templates, which differ in the line breaks around a value.
const TEMPLATES: [Template; 10] = [
    ("qwen coder", |to, body| {
        format!(
            "<tool_call>\n<function=send-mail>\n<parameter=to>\n{to}\n</parameter>\n<parameter=body>\n{body}\n</parameter>\n</function>\n</tool_call>"
        )
    }),
    ("seed", |to, body| {
        format!(
            "<seed:tool_call>\n<function=send-mail>\n<parameter=to>{to}</parameter>\n<parameter=body>{body}</parameter>\n</function>\n</seed:tool_call>"
        )
    }),
    ("glm", |to, body| {
        format!(
            "<tool_call>send-mail\n<arg_key>to</arg_key>\n<arg_value>{to}</arg_value>\n<arg_key>body</arg_key>\n<arg_value>{body}</arg_value>\n</tool_call>"
        )
    }),
    ("minimax", |to, body| {
        format!(
            "<minimax:tool_call>\n<invoke name=\"send-mail\">\n<parameter name=\"to\">{to}</parameter>\n<parameter name=\"body\">{body}</parameter>\n</invoke>\n</minimax:tool_call>"
        )
    }),
    ("dsml", |to, body| {
        format!(
            "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"send-mail\">\n<｜DSML｜parameter name=\"to\" string=\"true\">{to}</｜DSML｜parameter>\n<｜DSML｜parameter name=\"body\" string=\"true\">{body}</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>"
        )
    }),
    ("invoke", |to, body| {
        format!(
            "<invoke name=\"send-mail\">\n<parameter name=\"to\">{to}</parameter>\n<parameter name=\"body\">{body}</parameter>\n</invoke>"
        )
    }),
    ("argument token", |to, body| {
        format!(
            "<|tool_call:start|>send-mail\n<|tool_arg:start|>to<|tool_arg:value|>{to}<|tool_arg:end|>\n<|tool_arg:start|>body<|tool_arg:value|>{body}<|tool_arg:end|>\n<|tool_call:end|>"
        )
    }),
    ("xtml", |to, body| {
        format!(
            "<|open|>call tool=\"send-mail\" index=\"1\"<|sep|><|open|>argument key=\"to\" type=\"string\"<|sep|>{to}<|close|>argument<|sep|><|open|>argument key=\"body\" type=\"string\"<|sep|>{body}<|close|>argument<|sep|><|close|>call<|sep|>"
        )
    }),
    ("gemma", |to, body| {
        format!("<|tool_call>call:send-mail{{to:<|\"|>{to}<|\"|>,body:<|\"|>{body}<|\"|>}}<tool_call|>")
    }),
    ("tool named", |to, body| format!("<send-mail><to>\n{to}\n</to><body>\n{body}\n</body></send-mail>")),
];

/// Generates fragments of values: line breaks and blanks, code, and markers of the notations.
fn fragment() -> impl Strategy<Value = String> {
    let marks = vec![
        "\n", "\n\n", " ", "\t", "\r\n", "x", "a@b.c", "</parameter>", "</function>", "</tool_call>", "<tool_call>",
        "</arg_value>", "<arg_key>", "</arg_key>", "<arg_value>", "</invoke>", "</body>", "</to>", "<parameter=city>",
        "\n<parameter=city>\n", "\n<parameter name=\"city\">", "<b>", "</b>", "<function=ping>", "<![CDATA[", "]]>",
        "</｜DSML｜parameter>", "<|tool_arg:end|>", "<|im_end|>", "{\"a\": [1]}", "print(\"x\")", "'", "\"",
        "# no comment", "// slashes", "&lt;", "東京", "😀", "end.",
    ];
    prop_oneof![3 => select(marks).prop_map(str::to_owned), 2 => "[a-z .,;\n]{0,6}"]
}

fn value() -> impl Strategy<Value = String> {
    vec(fragment(), 0..5).prop_map(|parts| parts.concat())
}

/// Names and arguments.
type Calls = Vec<(String, Map<String, Value>)>;

/// Returns the calls that were parsed, if there are any.
fn read(text: &str, sent: usize) -> Option<Calls> {
    let situation = Situation { sent, ..Situation::with(Evidence::Amid) };
    match rescue(text, tools(), &situation) {
        Reading::Calls(rescued) => Some(
            rescued
                .calls
                .iter()
                .map(|call| (call.name.clone(), serde_json::from_str(&call.arguments).unwrap_or_default()))
                .collect(),
        ),
        _ => None,
    }
}

/// Returns the number of bytes that are released before the end of a text in pieces of these sizes.
fn flowed(text: &str, sizes: &[usize]) -> usize {
    let starts = Starts::of(tools());
    let rules = HoldRules { evidence: Evidence::Amid, json_wanted: false, max_bytes: 1 << 20 };
    let mut hold = Hold::new(&starts, rules);
    let mut rest = text;
    let mut sizes = sizes.iter().cycle();
    while !rest.is_empty() {
        let at = rest.ceil_char_boundary(*sizes.next().unwrap_or(&1)).min(rest.len()).max(1);
        let (piece, behind) = rest.split_at(rest.ceil_char_boundary(at));
        hold.push(piece);
        rest = behind;
    }
    hold.released()
}

/// Whether values cannot be distinguished from the template's own text: a whole argument of the same call, or a whole
/// CDATA section.
fn is_ambiguous(name: &str, to: &str, body: &str) -> bool {
    let is_cdata = |text: &str| text.trim_start().starts_with("<![CDATA[") && text.trim_end().ends_with("]]>");
    let lines = |text: &str| name == "tool named" && (text.is_empty() || text.trim().is_empty());
    is_cdata(to)
        || is_cdata(body)
        || lines(to)
        || lines(body)
        || name == "gemma" && (to.contains("<|\"|>") || body.contains("<|\"|>"))
}

#[test]
fn values_are_exact_or_the_answer_is_a_fault() {
    let config = ProptestConfig {
        rng_seed: RngSeed::Fixed(11),
        cases: 10_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let (exact, total) = (Cell::new(0_u32), Cell::new(0_u32));
    let strategy = ((0..TEMPLATES.len()), value(), value(), vec(1_usize..10, 1..6), any::<Index>());
    proptest!(config, |((template, to, body, sizes, _) in strategy)| {
        let (name, write) = TEMPLATES[template];
        prop_assume!(!is_ambiguous(name, &to, &body));
        let text = write(&to, &body);
        let expected: Map<String, Value> =
            [("to".to_owned(), Value::from(to)), ("body".to_owned(), Value::from(body))].into_iter().collect();
        total.set(total.get() + 1);
        let whole = read(&text, 0);
        // An argument that the tool does not have is a fault of the call (E3).
        let is_known = |calls: &Vec<(String, Map<String, Value>)>| calls[0].1.keys().all(|key| key == "to" || key == "body");
        let whole = whole.filter(is_known);
        if let Some(calls) = &whole {
            prop_assert_eq!(calls, &vec![("send-mail".to_owned(), expected)], "{}:\n{}", name, text);
            exact.set(exact.get() + 1);
        }
        // A stream yields the same calls, because no part of them is released before the end.
        let sent = flowed(&text, &sizes);
        if let Some(calls) = &whole {
            let streamed = read(&text, sent);
            prop_assert_eq!(streamed.as_ref(), Some(calls), "{} with {} bytes sent:\n{}", name, sent, text);
        }
    });
    // Most values contain no markers that could be mistaken for the template's.
    assert!(exact.get() * 10 > total.get() * 6, "{} of {} are exact", exact.get(), total.get());
}

#[test]
fn line_breaks_at_the_ends_of_a_value_are_its_own() {
    for (name, write) in TEMPLATES {
        for value in ["\n", "\nx", "x\n", "\n\nx\n\n", "  x  ", "a\n\nb", "\tx\n"] {
            if name == "tool named" && value == "\n" {
                continue;
            }
            let text = write("a@b.c", value);
            let calls = read(&text, 0).unwrap_or_else(|| panic!("{name}: no call in:\n{text}"));
            assert_eq!(calls[0].1.get("body"), Some(&Value::from(value)), "{name}:\n{text}");
        }
    }
}

#[test]
fn end_tags_within_a_value_are_part_of_it() {
    for (name, mark) in
        [("qwen coder", "</parameter>"), ("glm", "</arg_value>"), ("minimax", "</parameter>"), ("seed", "</function>")]
    {
        let (_, write) = TEMPLATES.into_iter().find(|(known, _)| *known == name).unwrap();
        let value = format!("A block ends with {mark} here.");
        let text = write("a@b.c", &value);
        let calls = read(&text, 0).unwrap_or_else(|| panic!("{name}: no call in:\n{text}"));
        assert_eq!(calls[0].1.get("body"), Some(&Value::from(value)), "{name}");
    }
}

#[test]
fn two_end_tags_in_a_row_are_a_fault() {
    let text = "<tool_call>send-mail\n<arg_key>to</arg_key>\n<arg_value>a@b.c</arg_value></arg_value>\n</tool_call>";
    let reading = rescue(text, tools(), &Situation::with(Evidence::Amid));
    assert!(matches!(reading, Reading::NoCall(_)), "{reading:?}");
}

#[test]
fn the_content_of_a_cdata_section_is_the_value() {
    for (inner, expected) in [
        ("<![CDATA[<a href=\"/x\">hi</a> </param>]]>", "<a href=\"/x\">hi</a> </param>"),
        ("\n<![CDATA[\nx\n]]>\n", "\nx\n"),
        ("<![CDATA[a]]]]><![CDATA[>b]]>", "a]]>b"),
    ] {
        let text = format!(
            "<function name=\"send-mail\"><param name=\"to\">a</param><param name=\"body\">{inner}</param></function>"
        );
        let calls = read(&text, 0).unwrap_or_else(|| panic!("no call in:\n{text}"));
        assert_eq!(calls[0].1.get("body"), Some(&Value::from(expected)), "{text}");
    }
}
