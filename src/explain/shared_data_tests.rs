//! How often the documentation's sentence is found, on vendors' real catalogues of errors.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::{Explainer, OperationDocs, Settings};
use crate::domain::outcome::ApiAnswer;
use crate::domain::{DocText, OperationRef, Outcome};

/// Share of records whose sentence is in the first passage, below which ranking has become worse.
const LEAST_FIRST: f64 = 0.98;

/// Share of records whose sentence is among the passages, below which ranking has become worse.
const LEAST_FOUND: f64 = 0.995;

fn folder() -> PathBuf {
    let shared = std::env::var_os("CALLWRIGHT_SHARED_DATA").map(PathBuf::from);
    shared.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared")).join("data/errors")
}

fn words(text: &str) -> Vec<String> {
    text.to_lowercase()
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Does a passage hold at least four in five of the words of the sentence?
fn tells(passage: &str, gold: &str) -> bool {
    let mut have = words(passage);
    let want = words(gold);
    let held = want
        .iter()
        .filter(|word| have.iter().position(|other| other == *word).map(|at| have.swap_remove(at)).is_some())
        .count();
    held * 5 >= want.len() * 4
}

/// The whole catalogue, and each of its sections as the documentation of one operation.
fn sections(folder: &std::path::Path, api: &str) -> Vec<OperationDocs> {
    let text = std::fs::read_to_string(folder.join("docs").join(format!("{api}.md"))).unwrap();
    let parts = text.split("\n#").map(|part| part.trim_start_matches('#').trim());
    let parts = parts.map(|part| (part.lines().next().unwrap_or_default().to_lowercase(), part.to_owned()));
    std::iter::once((String::new(), text.clone()))
        .chain(parts)
        .map(|(tool, text)| OperationDocs {
            toolset: api.into(),
            tool,
            texts: vec![DocText { text, source: format!("{api}.md") }],
        })
        .collect()
}

/// The section whose heading has all the words of the operation's name; the whole where the record names none.
fn operation(tools: &[(String, String)], api: &str, name: Option<&str>) -> OperationRef {
    let wanted = words(name.unwrap_or_default());
    let fits = |tool: &String| name.is_some() && wanted.iter().all(|word| words(tool).contains(word));
    let exact =
        tools.iter().find(|(toolset, tool)| toolset == api && name.is_some_and(|name| tool == &name.to_lowercase()));
    let found = exact.or_else(|| tools.iter().find(|(toolset, tool)| toolset == api && fits(tool)));
    OperationRef { toolset: api.into(), tool: found.map(|(_, tool)| tool.clone()).unwrap_or_default() }
}

#[test]
fn the_sentences_of_real_catalogues_are_found() {
    let folder = folder();
    let Ok(records) = std::fs::read_to_string(folder.join("errors.dev.jsonl")) else {
        let mut out = std::io::stderr();
        let _ = std::io::Write::write_all(&mut out, format!("passed by: no data in {}\n", folder.display()).as_bytes());
        return;
    };
    let docs: Vec<OperationDocs> = ["discord", "slack"].iter().flat_map(|api| sections(&folder, api)).collect();
    let tools: Vec<(String, String)> = docs.iter().map(|docs| (docs.toolset.clone(), docs.tool.clone())).collect();
    let explainer = Explainer::build(docs, &Settings::default());
    let (mut all, mut first, mut found) = (0.0, 0.0, 0.0);
    for line in records.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let status = record["status"].as_u64().unwrap_or(400) as u16;
        let body = record["body"].to_string();
        let outcome = Outcome::Answered(ApiAnswer {
            status,
            headers: Vec::new(),
            body: body.into(),
            truncated: false,
            paging: Default::default(),
        });
        let operation = operation(&tools, record["api"].as_str().unwrap(), record["operation"].as_str());
        let passages = explainer.explain(&operation, &outcome, &Map::new()).passages;
        let hits: Vec<bool> =
            passages.iter().map(|passage| tells(&passage.text, record["gold"].as_str().unwrap())).collect();
        all += 1.0;
        first += f64::from(u8::from(hits.first() == Some(&true)));
        found += f64::from(u8::from(hits.contains(&true)));
    }
    assert!(first / all >= LEAST_FIRST && found / all >= LEAST_FOUND, "first {first}, found {found} of {all}");
}
