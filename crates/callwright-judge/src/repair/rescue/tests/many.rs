//! Texts with many calls: all of them are made, or none.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::rendered::{NOTATIONS, Said};
use crate::repair::rescue::decision::Delivery;
use crate::repair::rescue::testing::{read, tools};
use crate::repair::rescue::{Reading, Situation};
use crate::repair::{Spoken, judge_message};
use callwright_scanner::Context;
use callwright_types::Verdict;
use callwright_types::rules::{Evidence, RepairRules, ScanRules};

/// Writes a text with calls.
type Writer = fn(&[Said]) -> String;

/// Notations of agents that the other tests do not write.
const OF_AGENTS: [(&str, Writer); 5] = [
    ("element of the tool", |calls| {
        each(calls, "\n\n", |call| {
            let name = &call.name;
            let arguments: String =
                call.arguments.iter().map(|(key, value)| format!("<{key}>{}</{key}>\n", text(value))).collect();
            format!("<{name}>\n{arguments}</{name}>")
        })
    }),
    ("labels", |calls| {
        each(calls, "\n", |call| format!("Tool: {}\nArguments: {}", call.name, Value::Object(call.arguments.clone())))
    }),
    ("assignments", |calls| {
        let mut out = String::new();
        for (index, call) in calls.iter().enumerate() {
            let arguments: Vec<String> = call.arguments.iter().map(|(key, value)| format!("{key}={value}")).collect();
            let _ = writeln!(out, "x{index} = {}({})", call.name, arguments.join(", "));
        }
        out
    }),
    ("ReAct with observations", |calls| {
        each(calls, "\n", |call| {
            format!(
                "Thought: one more.\nAction: {}\nAction Input: {}",
                call.name,
                Value::Object(call.arguments.clone())
            )
        })
    }),
    ("tool call amid prose", |calls| {
        each(calls, "\n", |call| {
            let object = json!({ "name": call.name, "arguments": call.arguments });
            format!("Next one: <tool_call>{object}</tool_call>")
        })
    }),
];

fn each(calls: &[Said], between: &str, write: impl Fn(&Said) -> String) -> String {
    calls.iter().map(write).collect::<Vec<_>>().join(between)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Creates this many distinct calls. Their texts have quotes and brackets, of which one is never closed.
fn calls(count: usize) -> Vec<Said> {
    let call = |index: usize| {
        let member = |key: &str, value: String| (key.to_owned(), Value::from(value));
        let (name, arguments): (_, Map<String, Value>) = match index % 3 {
            0 => ("mcp__files__read", [member("path", format!("src/part {index}/mod.rs"))].into_iter().collect()),
            1 => ("get_weather", [member("city", format!("Wien (Bezirk {index})"))].into_iter().collect()),
            _ => (
                "send-mail",
                [member("to", format!("a{index}@b.example")), member("body", format!("Hello {index} :("))]
                    .into_iter()
                    .collect(),
            ),
        };
        Said { name: name.to_owned(), arguments }
    };
    (0..count).map(call).collect()
}

#[test]
fn all_calls_of_a_text_are_made_or_none() {
    let notations = NOTATIONS.iter().map(|(name, _, write)| (*name, *write)).chain(OF_AGENTS);
    let mut wrong = Vec::new();
    for (name, write) in notations {
        for count in [5, 20, 60, 200] {
            let calls = calls(count);
            let found = match read(&write(&calls)) {
                Reading::Calls(rescued) => rescued.calls.len(),
                _ => 0,
            };
            if found != count {
                wrong.push(format!("{name}: {found} of {count} calls"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_text_that_is_not_read_to_its_end_has_no_calls() {
    let write = |count: usize| {
        each(&calls(count), "\n", |call| format!("{}({})", call.name, Value::Object(call.arguments.clone())))
    };
    // More calls than one answer may have, and brackets that are too deep for the rest of the text to be read.
    for text in [write(300), format!("{}\n\n{}", write(3), "[".repeat(200))] {
        assert!(matches!(read(&text), Reading::Unfinished(_)), "{:?}", read(&text));
        for (delivery, is_unsure) in [(Delivery::Text, true), (Delivery::Native, false)] {
            let situation = Situation { delivery, ..Situation::with(Evidence::Amid) };
            let spoken = Spoken { text: Some(&text), calls: &[], situation };
            let (scan, repair) = (ScanRules::default(), RepairRules::default());
            let judged = judge_message(&spoken, tools(), &scan, &repair, &Context::default());
            assert!(judged.calls.is_empty() && judged.rescued.is_none());
            assert_eq!((judged.is_unsure, judged.verdict() == Verdict::Text), (is_unsure, !is_unsure));
            let reasons = judged.diagnoses().chain(judged.advice()).map(|diagnosis| diagnosis.reason());
            assert_eq!(reasons.collect::<Vec<_>>(), [Some("unfinished")]);
        }
    }
}
