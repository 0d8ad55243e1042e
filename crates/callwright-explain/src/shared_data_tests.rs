//! Tests of the ranking on vendors' real error catalogues.

use std::path::{Path, PathBuf};

use futures_util::FutureExt;
use serde_json::{Map, Value};

use super::{Explainer, Section, Settings, documents};
use callwright_search::embedding::{self, built_in};
use callwright_test_macros::requires;
use callwright_types::outcome::ApiAnswer;
use callwright_types::{OperationRef, Outcome};

/// Minimum share of records whose sentence is in the first passage.
const LEAST_FIRST: f64 = 0.98;

/// Minimum share of records whose sentence is in any of the passages.
const LEAST_FOUND: f64 = 0.996;

/// The same for thirteen further vendors, most of whose failures have other words than the documentation.
const LEAST_FIRST_OF_THIRTEEN: f64 = 0.96;
const LEAST_FOUND_OF_THIRTEEN: f64 = 0.975;

/// Maximum share of failures without documentation that get a passage.
const MOST_CLAIMED: f64 = 0.02;

fn folder(set: &str) -> PathBuf {
    let shared = std::env::var_os("CALLWRIGHT_SHARED_DATA").map(PathBuf::from);
    shared
        .unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("../shared"))
        .join("data")
        .join(set)
}

/// Returns the records of a file.
fn records(file: &Path) -> Vec<Value> {
    let records = std::fs::read_to_string(file).unwrap();
    records.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn outcome(record: &Value) -> Outcome {
    let status = record["status"].as_u64().unwrap_or(200) as u16;
    Outcome::Answered(ApiAnswer::new(status, record["body"].to_string()))
}

fn passages(explainer: &Explainer, record: &Value) -> Vec<String> {
    let tool = record["operation"].as_str().unwrap_or_default().to_owned();
    let operation = OperationRef { toolset: record["api"].as_str().unwrap().to_owned(), tool };
    let found = explainer.explain(&operation, &outcome(record), &Map::new()).now_or_never().unwrap();
    found.passages.into_iter().map(|passage| passage.text).collect()
}

/// Whether a passage explains the record by any of its sentences.
fn explains(passage: &str, record: &Value) -> bool {
    match &record["gold"] {
        Value::Array(sentences) => sentences.iter().any(|gold| contains_sentence(passage, gold.as_str().unwrap())),
        gold => contains_sentence(passage, gold.as_str().unwrap()),
    }
}

/// Returns the shares of records explained by the first passage and by any.
fn shares(explainer: &Explainer, records: &[Value]) -> (f64, f64) {
    let (mut first, mut found) = (0, 0);
    for record in records {
        let hits: Vec<bool> = passages(explainer, record).iter().map(|passage| explains(passage, record)).collect();
        first += usize::from(hits.first() == Some(&true));
        found += usize::from(hits.contains(&true));
    }
    (first as f64 / records.len() as f64, found as f64 / records.len() as f64)
}

fn words(text: &str) -> Vec<String> {
    text.to_lowercase()
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Whether a passage contains at least four in five of the words of the sentence.
fn contains_sentence(passage: &str, gold: &str) -> bool {
    let mut have = words(passage);
    let expected = words(gold);
    let held = expected
        .iter()
        .filter(|word| have.iter().position(|other| other == *word).map(|at| have.swap_remove(at)).is_some())
        .count();
    held * 5 >= expected.len() * 4
}

/// Returns the sections of the catalogues with the names of their APIs.
fn sections(folder: &Path) -> Vec<(String, Section)> {
    let read = documents(&[folder.join("docs")], &Settings::default());
    let mut sections = Vec::new();
    for section in read.sections {
        let api = section.file.split('.').next().unwrap_or_default().to_owned();
        sections.push((api, section));
    }
    sections
}

#[requires("data/errors/errors.dev.jsonl")]
#[test]
fn the_sentences_of_real_catalogues_are_found() {
    let folder = folder("errors");
    let records = records(&folder.join("errors.dev.jsonl"));
    let explainer = Explainer::build(Vec::new(), sections(&folder), &Settings::default());
    let (first, found) = shares(&explainer, &records);
    assert!(first >= LEAST_FIRST && found >= LEAST_FOUND, "first {first}, found {found}");
}

#[requires("data/errors2/errors.jsonl")]
#[test]
fn thirteen_catalogues_are_explained_and_unknown_errors_are_not() {
    let folder = folder("errors2");
    let unknown = records(&folder.join("undocumented.jsonl"));
    let records = records(&folder.join("errors.jsonl"));
    let embedder = built_in(&embedding::Settings::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut explainer = Explainer::build(Vec::new(), sections(&folder), &Settings::default());
    runtime.block_on(explainer.embed_passages(&embedder)).unwrap();
    for record in records.iter().chain(&unknown) {
        explainer.learn(record["api"].as_str().unwrap(), &outcome(record));
    }
    let (first, found) = shares(&explainer, &records);
    assert!(first >= LEAST_FIRST_OF_THIRTEEN && found >= LEAST_FOUND_OF_THIRTEEN, "first {first}, found {found}");
    let claimed = unknown.iter().filter(|record| !passages(&explainer, record).is_empty()).count();
    assert!(claimed as f64 <= MOST_CLAIMED * unknown.len() as f64, "{claimed} of {} claimed", unknown.len());
}
