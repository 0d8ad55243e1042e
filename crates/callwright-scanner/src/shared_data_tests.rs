//! Measures the name similarity threshold on names of real tools and parameters: misspelt and reworded names must find
//! the intended name, and names of other tools must find nothing.
#![allow(clippy::print_stdout, reason = "the test prints its measurements")]

mod meaning;
mod synonyms;

use std::collections::BTreeSet;
use std::path::PathBuf;

use callwright_test_macros::requires;
use serde_json::Value;

use super::names::{NameList, fold};
use callwright_types::rules::ScanRules;

/// Number of tools offered at the same time.
const OFFERED: usize = 20;

/// Minimum precision and recall of the default threshold.
const LEAST_PRECISION: f64 = 0.95;
const LEAST_RECALL: f64 = 0.85;

fn folder() -> PathBuf {
    let shared = std::env::var_os("CALLWRIGHT_SHARED_DATA").map(PathBuf::from);
    shared
        .unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("../shared"))
        .join("data/calls")
}

/// Returns the names of the tools in a file, with the names of their parameters.
fn tools(file: &str) -> Vec<(String, Vec<String>)> {
    let Ok(text) = std::fs::read_to_string(folder().join(file)) else { return Vec::new() };
    let mut seen = BTreeSet::new();
    text.lines()
        .flat_map(|line| serde_json::from_str::<Value>(line).unwrap()["tools"].as_array().unwrap().clone())
        .map(|tool| tool["function"].clone())
        .map(|function| {
            let parameters = function["parameters"]["properties"].as_object().cloned().unwrap_or_default();
            (function["name"].as_str().unwrap().to_owned(), parameters.keys().cloned().collect())
        })
        .filter(|(name, _)| seen.insert(name.clone()))
        .collect()
}

/// Returns a name with a typical model error: a letter lost, doubled, exchanged or swapped with the next one, twice for
/// long names; a word dropped, added or moved. `None` if the name is too short.
fn mistaken(name: &str, random: &mut fastrand::Rng) -> Option<String> {
    let mut letters: Vec<char> = name.chars().collect();
    if letters.len() < 4 {
        return None;
    }
    let words: Vec<&str> = name.split(['_', '.']).filter(|word| !word.is_empty()).collect();
    match random.usize(..6) {
        0 if words.len() > 2 => {
            let left_out = random.usize(..words.len());
            let kept = words.iter().enumerate().filter(|(index, _)| *index != left_out).map(|(_, word)| *word);
            Some(kept.collect::<Vec<_>>().join("_"))
        }
        1 if words.len() > 1 => Some(format!("{}_{name}", ["get", "fetch", "the", "do", "calc"][random.usize(..5)])),
        2 if words.len() > 1 => Some(words.iter().rev().copied().collect::<Vec<_>>().join("_")),
        _ => {
            for _ in 0..letters.len().div_ceil(12) {
                let at = random.usize(..letters.len() - 1);
                match random.usize(..4) {
                    0 => drop(letters.remove(at)),
                    1 => letters.insert(at, letters[at]),
                    2 => letters[at] = random.lowercase(),
                    _ => letters.swap(at, at + 1),
                }
            }
            Some(letters.into_iter().collect())
        }
    }
}

/// Result of a lookup: the similarity of the best name if it is unique, whether it is the intended one, and whether any
/// is intended.
struct NameLookup {
    best: Option<f64>,
    is_right: bool,
    is_meant: bool,
}

fn look_up(name: &str, meant: Option<&str>, known: &[&str]) -> Option<NameLookup> {
    // The same name in another notation is a different fault.
    if known.iter().any(|known| fold(known) == fold(name)) {
        return None;
    }
    let ranked = NameList::read(known.iter().copied()).nearest(name, 2, 0.0, |_| true);
    let best = ranked.first().filter(|best| ranked.get(1).is_none_or(|second| second.1 < best.1));
    let is_right = best.is_some_and(|(index, _)| Some(known[*index]) == meant);
    Some(NameLookup { best: best.map(|best| best.1), is_right, is_meant: meant.is_some() })
}

/// Returns precision and recall of suggestions at a threshold; about half of the names have no intended match.
fn measure(lookups: &[NameLookup], threshold: f64) -> (f64, f64) {
    let suggested = |lookup: &&NameLookup| lookup.best.is_some_and(|best| best >= threshold);
    let all = lookups.iter().filter(suggested).count();
    let right = lookups.iter().filter(suggested).filter(|lookup| lookup.is_right).count();
    let meant = lookups.iter().filter(|lookup| lookup.is_meant).count();
    (right as f64 / all.max(1) as f64, right as f64 / meant.max(1) as f64)
}

fn lookups_of_tools(tools: &[(String, Vec<String>)], random: &mut fastrand::Rng) -> Vec<NameLookup> {
    let mut lookups = Vec::new();
    for offered in tools.chunks(OFFERED) {
        let known: Vec<&str> = offered.iter().map(|(name, _)| name.as_str()).collect();
        for name in &known {
            let wrong = mistaken(name, random).and_then(|wrong| look_up(&wrong, Some(name), &known));
            let other = &tools[random.usize(..tools.len())].0;
            let foreign = if known.contains(&other.as_str()) { None } else { look_up(other, None, &known) };
            lookups.extend(wrong.into_iter().chain(foreign));
        }
    }
    lookups
}

fn lookups_of_parameters(tools: &[(String, Vec<String>)], random: &mut fastrand::Rng) -> Vec<NameLookup> {
    let mut lookups = Vec::new();
    for (_, parameters) in tools.iter().filter(|(_, parameters)| !parameters.is_empty()) {
        let known: Vec<&str> = parameters.iter().map(String::as_str).collect();
        let meant = known[random.usize(..known.len())];
        let wrong = mistaken(meant, random).and_then(|wrong| look_up(&wrong, Some(meant), &known));
        let others = &tools[random.usize(..tools.len())].1;
        let other = others.get(random.usize(..others.len().max(1)));
        lookups.extend(wrong.into_iter().chain(other.and_then(|other| look_up(other, None, &known))));
    }
    lookups
}

#[requires("data/calls")]
#[test]
fn the_default_threshold_suggests_what_is_meant_and_little_else() {
    let mut all = tools("bfcl.tools.jsonl");
    all.extend(tools("apibank.tools.jsonl"));
    assert!(!all.is_empty());
    let mut random = fastrand::Rng::with_seed(11);
    random.shuffle(&mut all);
    let sets =
        [("tools", lookups_of_tools(&all, &mut random)), ("parameters", lookups_of_parameters(&all, &mut random))];
    for (what, lookups) in &sets {
        println!("{what}: {} names", lookups.len());
        for step in 10..20 {
            let threshold = f64::from(step) / 20.0;
            let (precision, recall) = measure(lookups, threshold);
            println!("  {threshold:.2}: precision {:.1} %, recall {:.1} %", 100.0 * precision, 100.0 * recall);
        }
        let (precision, recall) = measure(lookups, ScanRules::default().similarity);
        assert!(precision >= LEAST_PRECISION && recall >= LEAST_RECALL, "{what}: {precision} {recall}");
    }
}
