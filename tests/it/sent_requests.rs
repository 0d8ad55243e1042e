//! Requests of the executor for generated arguments, validated by openapi-core: every parameter style and kind of body
//! in the documents of `tests/fixtures/requests` and `openapi`. `bench/requests/run` does the same with hundreds of
//! real documents.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it found"
)]

#[path = "../../bench/requests/arguments.rs"]
mod arguments;
#[path = "../../bench/requests/effective.rs"]
mod effective;
#[path = "../../bench/requests/generator.rs"]
mod generator;
#[path = "../../bench/requests/numbers.rs"]
mod numbers;
#[path = "../../bench/requests/texts.rs"]
mod texts;
#[path = "../../bench/requests/written.rs"]
mod written;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::python::python;
use callwright_test_macros::requires;
use serde_json::Value;

/// Number of argument seeds per document.
const SEEDS: u64 = 4;

/// Returns the documents in a fixed order.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = |folder: &str| fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = files("tests/fixtures/requests").chain(files("openapi")).collect();
    found.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    found.sort();
    found
}

/// Writes the requests of every document and seed, as `bench/requests/run` does. Returns their number.
fn write_requests(out: &Path) -> usize {
    let mut summary = Vec::new();
    for document in documents() {
        let as_json: Value = serde_saphyr::from_str(&fs::read_to_string(&document).unwrap()).unwrap();
        for seed in 0..SEEDS {
            let index = summary.len();
            let (folder, name) = (document.parent().unwrap(), document.file_name().unwrap().to_str().unwrap());
            let requests = out.join(format!("{index}.jsonl"));
            summary.push(serde_json::to_value(written::write(name, folder, seed, &requests).unwrap()).unwrap());
            fs::write(out.join(format!("{index}.json")), as_json.to_string()).unwrap();
        }
    }
    fs::write(out.join("summary.json"), serde_json::to_string(&summary).unwrap()).unwrap();
    for entry in &summary {
        assert_eq!(entry["error"], Value::Null, "{entry}");
        assert_eq!(entry["not_made"], serde_json::json!([]), "{entry}");
    }
    summary.iter().filter_map(|entry| entry["requests"].as_u64()).sum::<u64>() as usize
}

#[requires(python_clients)]
#[test]
fn an_independent_validator_accepts_what_is_sent() {
    let python = python();
    let out = tempfile::tempdir().unwrap();
    let written = write_requests(out.path());
    assert!(written > 400, "{written}");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let judgement = Command::new(python)
        .arg(root.join("bench/requests/judge.py"))
        .arg("--documents")
        .arg(root.join("tests/fixtures/requests"))
        .arg("--requests")
        .arg(out.path())
        .arg("--refusals")
        .arg(out.path().join("refusals.jsonl"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&judgement.stdout);
    let refusals = fs::read_to_string(out.path().join("refusals.jsonl")).unwrap_or_default();
    let ours: Vec<&str> = refusals.lines().filter(|line| line.contains(r#""whose": "ours""#)).collect();
    let errors = String::from_utf8_lossy(&judgement.stderr);
    assert!(judgement.status.success(), "{said}\n{}\n{errors}", ours.join("\n"));
    let count = |name: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.trim().parse::<usize>().ok()).unwrap_or_else(|| panic!("no `{name}` in {said}"))
    };
    assert_eq!(count("judged"), written, "{said}");
    assert!(count("accepted") * 10 > written * 9, "{said}");
    println!("{said}");
}
