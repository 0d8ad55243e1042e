//! Recall and false positives of failure recognition in tool messages: on documented responses of real APIs, rendered
//! as frameworks pass them to a model, and on recorded errors of tools.
//!
//! `cargo test --test it failure_recognition:: -- --nocapture` prints both by format. Documents are split in two halves by
//! the hash of their name: the rules were developed with one half and are evaluated on the other.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and this one prints what it measures"
)]

mod answers;
mod lookalikes;
mod promised;
mod renderings;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use callwright_explain::recognise;
use callwright_test_macros::requires;
use serde_json::Value;

/// Minimum recall.
const LEAST_RECALL: f64 = 0.95;

/// Maximum share of other messages that are recognised as failures.
const MOST_FALSE: f64 = 0.005;

/// Maximum size of a document; larger ones take too long to parse in a test.
const MAX_DOCUMENT_BYTES: u64 = 1_000_000;

fn folder() -> PathBuf {
    let shared = std::env::var_os("CALLWRIGHT_SHARED_DATA").map(PathBuf::from);
    shared.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared")).join("data")
}

fn found(text: &str) -> Option<&'static str> {
    recognise("get_items", text, &[]).failure()
}

#[derive(Default)]
struct Tally {
    all: usize,
    recognised: usize,
}

/// Tallies by half, by kind, and by format.
type Tallies = BTreeMap<(bool, &'static str, &'static str), Tally>;

fn count(tallies: &mut Tallies, held_out: bool, what: &'static str, (manner, text): &(&'static str, String)) {
    let found = found(text);
    let tally = tallies.entry((held_out, what, manner)).or_default();
    tally.all += 1;
    tally.recognised += usize::from(found.is_some());
    let shown = std::env::var("SHOW_MISSES").is_ok() && !held_out && (what == "failure") != found.is_some();
    if shown {
        let short: String = text.chars().take(400).collect();
        println!("MISS {what} [{manner}] {:?} {short:?}", found);
    }
}

fn documents(folder: &Path) -> Vec<(String, Value)> {
    let Ok(index) = std::fs::read_to_string(folder.join("specs/specs.index.jsonl")) else { return Vec::new() };
    let files =
        index.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()?["file"].as_str().map(str::to_owned));
    files.filter_map(|file| Some((file.clone(), document(&folder.join("specs").join(&file))?))).collect()
}

fn document(path: &Path) -> Option<Value> {
    if path.metadata().ok()?.len() > MAX_DOCUMENT_BYTES {
        return None;
    }
    let text = std::fs::read_to_string(path).ok()?;
    serde_json::from_str(&text).ok().or_else(|| serde_saphyr::from_str(&text).ok())
}

fn tell(tallies: &Tallies) -> BTreeMap<(bool, &'static str), f64> {
    let mut sums: BTreeMap<(bool, &'static str), Tally> = BTreeMap::new();
    for ((held_out, what, manner), tally) in tallies {
        println!("{} {what:10} {manner:20} {:6} of {:6}", half(*held_out), tally.recognised, tally.all);
        let sum = sums.entry((*held_out, what)).or_default();
        sum.all += tally.all;
        sum.recognised += tally.recognised;
    }
    for ((held_out, what), sum) in &sums {
        let share = 100.0 * sum.recognised as f64 / sum.all as f64;
        println!("{} {what:10} {share:.2} % of {} recognised as failures", half(*held_out), sum.all);
    }
    sums.into_iter().map(|(key, sum)| (key, sum.recognised as f64 / sum.all as f64)).collect()
}

fn half(held_out: bool) -> &'static str {
    if held_out { "held out" } else { "tune    " }
}

#[requires("data/specs")]
#[test]
fn failures_in_tool_messages_are_recognised_and_others_are_not() {
    let documents = documents(&folder());
    assert!(!documents.is_empty());
    let mut tallies = Tallies::new();
    for (file, document) in &documents {
        let held_out = answers::chance(file).is_multiple_of(2);
        for answer in answers::answers(document) {
            let of = format!("{file}{}{}", answer.status, answer.description);
            if answer.failed {
                let (bare, dressed): (Vec<_>, Vec<_>) = renderings::of_failure(&answer)
                    .into_iter()
                    .partition(|(manner, _)| manner.starts_with("body") || *manner == "description");
                for rendered in renderings::some(dressed, &of, 2).iter().chain(&renderings::some(bare, &of, 1)) {
                    count(&mut tallies, held_out, "failure", rendered);
                }
                for rendered in renderings::some(lookalikes::of(&answer), &of, 2) {
                    count(&mut tallies, held_out, "look-alike", &rendered);
                }
            } else {
                for rendered in renderings::some(renderings::of_success(&answer), &of, 3) {
                    count(&mut tallies, held_out, "success", &rendered);
                }
            }
        }
    }
    for rendered in lookalikes::of_nothing() {
        count(&mut tallies, true, "look-alike", &rendered);
    }
    let shares = tell(&tallies);
    for held_out in [false, true] {
        let recall = shares[&(held_out, "failure")];
        assert!(recall >= LEAST_RECALL, "{}: {recall} of the failures are recognised", half(held_out));
        for other in ["success", "look-alike"] {
            let share = shares[&(held_out, other)];
            assert!(share <= MOST_FALSE, "{}: {share} of {other} are taken for failures", half(held_out));
        }
    }
}

#[requires("data/calls/taubench.dev.jsonl")]
#[test]
fn every_recorded_error_of_tools_is_recognised() {
    let records = std::fs::read_to_string(folder().join("calls/taubench.dev.jsonl")).unwrap();
    let errors: Vec<String> = records
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["error"].as_str().unwrap().to_owned())
        .collect();
    let recognised = errors.iter().filter(|error| found(error).is_some()).count();
    let bare = errors.iter().filter(|error| found(error.trim_start_matches("Error: ")).is_some()).count();
    println!("recorded errors: {recognised} of {} recognised; {bare} without their first word", errors.len());
    assert_eq!(recognised, errors.len());
}
