//! Placeholders are distinguished from values: no correct call of a real model is reported to contain one.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it left out"
)]

use std::collections::HashMap;
use std::fmt::Write;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use callwright_test_macros::requires;
use serde_json::{Value, json};

/// Every nth record is judged. Models have an odd number of records, so that every question is covered.
const EVERY: usize = 4;

/// Returns the advice of `callwright scan` for each response, by the response's id.
fn advice(answers: &str) -> HashMap<String, Vec<Value>> {
    let folder = tempfile::tempdir().unwrap();
    let [input, output] = ["in.jsonl", "out.jsonl"].map(|name| folder.path().join(name));
    std::fs::write(&input, answers).unwrap();
    let scan = Command::new(env!("CARGO_BIN_EXE_callwright"))
        .args(["scan", "--in"])
        .arg(&input)
        .arg("--out")
        .arg(&output)
        .output()
        .unwrap();
    assert!(scan.status.success(), "{}", String::from_utf8_lossy(&scan.stderr));
    let lines = std::fs::read_to_string(output).unwrap();
    let read = |line: &str| {
        let verdict: Value = serde_json::from_str(line).unwrap();
        let noted = verdict["advice"].as_array().cloned().unwrap_or_default();
        (verdict["id"].as_str().unwrap().to_owned(), noted)
    };
    lines.lines().map(read).collect()
}

#[test]
fn a_scan_notes_placeholders_absent_from_the_conversation() {
    let tools = json!([{"type": "function", "function": {"name": "get_weather", "parameters":
        {"type": "object", "properties": {"city": {"type": "string"}, "mail": {"type": "string"}}}}}]);
    let line = |id: &str, said: Option<&str>, arguments: Value| {
        let call = json!({"id": "c", "type": "function",
            "function": {"name": "get_weather", "arguments": arguments.to_string()}});
        let mut line = json!({"id": id, "tools": tools, "message": {"role": "assistant", "tool_calls": [call]}});
        if let Some(said) = said {
            line["messages"] = json!([{"role": "user", "content": said}]);
        }
        format!("{line}\n")
    };
    let address = json!({"mail": "me@example.com"});
    let noted = advice(
        &[
            line("blank", None, json!({"city": "<city>"})),
            line("address", Some("How is the weather?"), address.clone()),
            line("said", Some("Mail it to me@example.com"), address.clone()),
            line("unknown", None, address),
        ]
        .concat(),
    );
    let codes = |id: &str| noted[id].iter().map(|found| found["code"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!((codes("blank"), codes("address")), (vec!["E4.3"], vec!["E4.3"]));
    assert!(codes("said").is_empty() && codes("unknown").is_empty());
}

/// Returns the folder of recorded calls.
fn calls() -> PathBuf {
    let shared = std::env::var_os("CALLWRIGHT_SHARED_DATA").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"));
    shared.join("data/calls")
}

#[requires("data/calls")]
#[test]
fn right_calls_have_no_placeholder_with_or_without_the_question() {
    let folder = calls();
    let questions: HashMap<String, Value> = std::fs::read_to_string(folder.join("bfcl.tools.jsonl"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|question| (question["id"].as_str().unwrap().to_owned(), question))
        .collect();
    let mut records = String::new();
    let file = std::fs::File::open(folder.join("bfcl.dev.jsonl.gz")).unwrap();
    flate2::read::MultiGzDecoder::new(file).read_to_string(&mut records).unwrap();
    let mut answers = String::new();
    let mut count = 0;
    for line in records.lines().step_by(EVERY) {
        let record: Value = serde_json::from_str(line).unwrap();
        if record["bfcl_valid"] != true {
            continue;
        }
        let question = &questions[record["question"].as_str().unwrap()];
        let mut tools = question["tools"].clone();
        for tool in tools.as_array_mut().unwrap() {
            let name = tool["function"]["name"].as_str().unwrap();
            if record["dots"] == "underscore" {
                tool["function"]["name"] = name.replace('.', "_").into();
            }
        }
        let mut answer = json!({"id": format!("{count}"), "tools": tools, "message": record["message"]});
        writeln!(answers, "{answer}").unwrap();
        answer["id"] = format!("{count} said").into();
        answer["messages"] = json!([{"role": "user", "content": question["question"]}]);
        writeln!(answers, "{answer}").unwrap();
        count += 1;
    }
    assert!(count > 3_000, "{count}");
    let noted: Vec<_> = advice(&answers).into_iter().filter(|(_, noted)| !noted.is_empty()).collect();
    assert!(noted.is_empty(), "{noted:?}");
}
