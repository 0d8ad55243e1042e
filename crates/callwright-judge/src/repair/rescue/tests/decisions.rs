//! Property tests of the whole decision: no program and no quotation becomes a call.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;

use crate::repair::rescue::Situation;
use crate::repair::rescue::testing::tools;
use crate::repair::{JudgedMessage, Spoken, judge_message};
use callwright_scanner::{Context, Transcript};
use callwright_types::rules::{Evidence, RepairRules, ScanRules};

const CASES: u32 = 10_000;

fn config() -> ProptestConfig {
    ProptestConfig {
        rng_seed: RngSeed::Fixed(21),
        cases: CASES,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn judged(text: &str, transcript: &Transcript) -> JudgedMessage {
    let spoken = Spoken { text: Some(text), calls: &[], situation: Situation::with(Evidence::Amid) };
    let context = Context { conversation: Some(transcript), ..Context::default() };
    judge_message(&spoken, tools(), &ScanRules::default(), &RepairRules::default(), &context)
}

/// Generates calls of offered tools as code.
fn code() -> impl Strategy<Value = String> {
    prop_oneof![
        "[A-Z][a-z]{2,8}".prop_map(|city| format!("get_weather(city=\"{city}\")")),
        (1..9999_u32).prop_map(|id| format!("orders.cancel(order_id={id})")),
        "[a-z]{1,8}".prop_map(|path| format!("mcp__files__read(path='{path}')")),
        Just("ping()".to_owned()),
    ]
}

/// Returns first statements of programs, with the indentation of the following lines and the end.
fn heads() -> impl Strategy<Value = (&'static str, &'static str, &'static str)> {
    select(vec![
        ("def main():", "    ", ""),
        ("async def run(client):", "\t", ""),
        ("class Job:\n    def run(self):", "        ", ""),
        ("for city in cities:", "    ", ""),
        ("while not done:", "    ", ""),
        ("if user.is_admin:", "    ", "else:\n    pass"),
        ("with open('log') as log:", "    ", ""),
        ("try:", "    ", "except ValueError:\n    raise"),
        ("import tools", "", ""),
        ("from tools import client", "", ""),
        ("function main() {", "  ", "}"),
        ("for (const city of cities) {", "  ", "}"),
        ("if (ok) {", "  ", "}"),
        ("const total = 3;", "", ""),
        ("fn main() {", "    ", "}"),
        ("func main() {", "\t", "}"),
        (">>> import tools", ">>> ", "True"),
        ("@@ -1,2 +1,2 @@", "+ ", ""),
        ("total = 1", "print(total)\n", ""),
    ])
}

fn prose() -> impl Strategy<Value = &'static str> {
    select(vec!["", "", "Voilà :\n\n", "Hier ist der Code.\n\n", "这是代码：\n\n", "Done.\n\n", "Пример\n\n"])
}

/// Generates a call in one of the notations.
fn written() -> impl Strategy<Value = String> {
    let data = "[A-Z][a-z]{2,8}"
        .prop_map(|city| format!("{{\"name\": \"get_weather\", \"arguments\": {{\"city\": \"{city}\"}}}}"));
    let around = select(vec![
        ("", ""),
        ("<tool_call>\n", "\n</tool_call>"),
        ("[TOOL_CALLS] [", "]"),
        ("<|python_tag|>", "<|eom_id|>"),
        ("```json\n", "\n```"),
        ("<function_call> ", ""),
    ]);
    prop_oneof![(around, data).prop_map(|((open, close), data)| format!("{open}{data}{close}")), code()]
}

/// Encodes a text as a message may contain it.
fn encoded(text: &str, encoding: u8) -> String {
    match encoding {
        0 => text.to_owned(),
        1 => serde_json::json!({ "content": text }).to_string(),
        2 => text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;"),
        3 => text.replace('\n', "\r\n   "),
        _ => serde_json::json!(serde_json::json!({ "content": text }).to_string()).to_string(),
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn programs_are_text(
        before in prose(),
        (head, indent, end) in heads(),
        calls in vec(code(), 1..4),
        after in select(vec!["", "\n\nC'est tout.", "\n\nお試しください。"]),
    ) {
        let body: Vec<String> = calls.iter().map(|call| format!("{indent}{call}")).collect();
        let text = format!("{before}{head}\n{}\n{end}{after}", body.join("\n"));
        let judged = judged(&text, &Transcript::default());
        prop_assert!(judged.calls.is_empty() && judged.no_call.is_none(), "{text}\n{judged:?}");
    }

    #[test]
    fn diffs_logs_and_keyed_documents_are_text(calls in vec(code(), 2), form in 0..3_u8, hour in 0..24_u8) {
        let [one, other] = calls.as_slice() else { return Ok(()) };
        let text = match form {
            0 => format!("- {one}\n+ {other}"),
            1 => format!("2026-11-23 {hour:02}:04:05 INFO worker: {one}\n2026-11-23 {hour:02}:04:06 INFO worker: {other}"),
            _ => format!("steps:\n  - name: first\n    run: {one}\n  - name: second\n    run: {other}"),
        };
        let judged = judged(&text, &Transcript::default());
        prop_assert!(judged.calls.is_empty() && judged.no_call.is_none(), "{text}\n{judged:?}");
    }

    #[test]
    fn quotations_are_never_calls(
        call in written(),
        encoding in 0..5_u8,
        role in 0..3_u8,
        before in prose(),
        after in select(vec!["", "", "\n\nThat is all.", "\n\n以上です。"]),
    ) {
        let page = encoded(&format!("Welcome.\n{call}\nBye."), encoding);
        let mut transcript = Transcript::default();
        match role {
            0 => transcript.given(page),
            1 => transcript.add_user_message(page),
            _ => transcript.returned(None, "fetch", page),
        }
        let text = format!("{before}{call}{after}");
        let judged = judged(&text, &transcript);
        prop_assert!(judged.calls.is_empty(), "{text}\n{judged:?}");
        let is_alone = before.is_empty() && after.is_empty();
        prop_assert!(judged.is_unsure == judged.no_call.is_some() && (is_alone || !judged.is_unsure), "{text}\n{judged:?}");
    }
}
