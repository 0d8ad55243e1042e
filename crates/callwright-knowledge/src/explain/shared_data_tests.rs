//! Tests of the ranking on vendors' real error catalogues.

use std::path::{Path, PathBuf};

use callwright_test_macros::requires;
use futures_util::FutureExt;
use serde_json::{Map, Value};

use super::{Explainer, Section, Settings, documents};
use callwright_types::outcome::ApiAnswer;
use callwright_types::{OperationRef, Outcome};

/// Minimum share of records whose sentence is in the first passage.
const LEAST_FIRST: f64 = 0.98;

/// Minimum share of records whose sentence is in any of the passages.
const LEAST_FOUND: f64 = 0.998;

fn folder() -> PathBuf {
    let shared = std::env::var_os("CALLWRIGHT_SHARED_DATA").map(PathBuf::from);
    shared
        .unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("../shared"))
        .join("data/errors")
}

fn words(text: &str) -> Vec<String> {
    text.to_lowercase()
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Whether a passage contains at least four in five of the words of the sentence.
fn tells(passage: &str, gold: &str) -> bool {
    let mut have = words(passage);
    let want = words(gold);
    let held = want
        .iter()
        .filter(|word| have.iter().position(|other| other == *word).map(|at| have.swap_remove(at)).is_some())
        .count();
    held * 5 >= want.len() * 4
}

/// Returns the sections of the catalogues with the names of their APIs.
fn sections(folder: &Path) -> Vec<(String, Section)> {
    let read = documents(&[folder.join("docs")], &Settings::default());
    let api = |file: &str| file.trim_end_matches(".md").to_owned();
    read.sections.into_iter().map(|section| (api(&section.file), section)).collect()
}

#[requires("data/errors/errors.dev.jsonl")]
#[test]
fn the_sentences_of_real_catalogues_are_found() {
    let folder = folder();
    let records = std::fs::read_to_string(folder.join("errors.dev.jsonl")).unwrap();
    let explainer = Explainer::with_sections(Vec::new(), sections(&folder), &Settings::default());
    let (mut all, mut first, mut found) = (0.0, 0.0, 0.0);
    for line in records.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let status = record["status"].as_u64().unwrap_or(200) as u16;
        let body = record["body"].to_string();
        let outcome = Outcome::Answered(ApiAnswer::new(status, body));
        let tool = record["operation"].as_str().unwrap_or_default().to_owned();
        let operation = OperationRef { toolset: record["api"].as_str().unwrap().to_owned(), tool };
        let passages = explainer.explain(&operation, &outcome, &Map::new()).now_or_never().unwrap().passages;
        let hits: Vec<bool> =
            passages.iter().map(|passage| tells(&passage.text, record["gold"].as_str().unwrap())).collect();
        all += 1.0;
        first += f64::from(u8::from(hits.first() == Some(&true)));
        found += f64::from(u8::from(hits.contains(&true)));
    }
    assert!(first / all >= LEAST_FIRST && found / all >= LEAST_FOUND, "first {first}, found {found} of {all}");
}
