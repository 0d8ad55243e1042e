//! Measures how often the source of an argument is among its first candidates, on requests with dependent calls.
#![allow(clippy::print_stdout, reason = "the test reports its measurement, or that it was skipped")]

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::{Producers, Request, Segment, ToolShape, documented_fields};
use callwright_search::embedding::{Settings, Vector, built_in};

/// Minimum shares among the first, the first three and the first five candidates, with the built-in vectors.
const LEAST: [f64; 3] = [0.78, 0.93, 0.94];

fn folder() -> PathBuf {
    let shared = std::env::var_os("CALLWRIGHT_SHARED_DATA").map(PathBuf::from);
    shared
        .unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("../shared"))
        .join("data/plans")
}

fn lines(file: &str) -> Option<Vec<Value>> {
    let text = std::fs::read_to_string(folder().join(file)).ok()?;
    Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn embed(texts: Vec<String>) -> Vec<Vector> {
    let embedder = built_in(&Settings::default()).unwrap();
    futures_util::FutureExt::now_or_never(embedder.embed(texts)).unwrap().unwrap()
}

/// Hits among the first 1, 3 and 5 candidates, and the number of arguments.
#[derive(Debug, Default, Clone, Copy)]
struct Recall {
    at: [u32; 3],
    arguments: u32,
}

impl Recall {
    fn shares(&self) -> [f64; 3] {
        self.at.map(|hits| f64::from(hits) / f64::from(self.arguments.max(1)))
    }
}

/// Returns the producers of the references in a value: the tools of the calls with these labels.
fn producers_of<'a>(value: &Value, labels: &HashMap<&str, &'a str>) -> Vec<&'a str> {
    match value {
        Value::String(text) => {
            let marks = text.split('$').filter_map(|part| labels.get(part.split(['.', '[']).next()?));
            marks.copied().collect()
        }
        Value::Array(items) => items.iter().flat_map(|item| producers_of(item, labels)).collect(),
        Value::Object(members) => members.values().flat_map(|item| producers_of(item, labels)).collect(),
        _ => Vec::new(),
    }
}

fn measure(has_vectors: bool) -> Option<BTreeMap<String, Recall>> {
    let (toolsets, records) = (lines("nestful.tools.jsonl")?, lines("nestful.dev.jsonl")?);
    let mut by_id = HashMap::new();
    for toolset in &toolsets {
        let tools = toolset["tools"].as_array().unwrap();
        let outputs: Vec<_> = tools.iter().map(|tool| documented_fields(&tool["output"])).collect();
        let (mut shapes, mut names) = (Vec::<ToolShape<'_>>::new(), Vec::new());
        for (tool, outputs) in tools.iter().zip(&outputs) {
            let name = tool["name"].as_str().unwrap();
            if names.contains(&name) {
                continue;
            }
            names.push(name);
            let description = tool["description"].as_str().unwrap_or_default();
            let parameters = &tool["parameters"];
            shapes.push(ToolShape { name, description, parameters, outputs, http: None, links: &[] });
        }
        let mut segment = Segment::build(&shapes);
        if has_vectors {
            segment = segment.with_vectors(embed(shapes.iter().map(ToolShape::embedded).collect()));
        }
        by_id.insert(toolset["id"].as_str().unwrap(), (names, Producers::new([Arc::new(segment)])));
    }
    let mut recalls: BTreeMap<String, Recall> = BTreeMap::new();
    for record in &records {
        let id = record["toolset"].as_str().unwrap();
        let (names, producers) = &by_id[id];
        let request = Request::parse(record["query"].as_str().unwrap());
        let vectors = if has_vectors { embed(request.texts()) } else { Vec::new() };
        let scores = producers.score(&request, &vectors);
        let gold = record["gold"].as_array().unwrap();
        let labels: HashMap<&str, &str> =
            gold.iter().filter_map(|call| Some((call["label"].as_str()?, call["name"].as_str()?))).collect();
        for call in gold {
            for (argument, value) in call["arguments"].as_object().unwrap() {
                let expected = producers_of(value, &labels);
                if expected.is_empty() {
                    continue;
                }
                let tool = call["name"].as_str().unwrap();
                let position = producers.position(tool);
                let candidates = position.map(|at| producers.candidates(at, argument, &scores, 5)).unwrap_or_default();
                let ranked: Vec<&str> = candidates.iter().map(|candidate| names[candidate.tool]).collect();
                let rank = ranked.iter().position(|name| expected.contains(name));
                for recall in ["all", id].map(str::to_owned) {
                    let recall = recalls.entry(recall).or_default();
                    recall.arguments += 1;
                    for (hits, most) in recall.at.iter_mut().zip([1, 3, 5]) {
                        *hits += u32::from(rank.is_some_and(|rank| rank < most));
                    }
                }
            }
        }
    }
    Some(recalls)
}

#[test]
fn the_source_of_an_argument_is_among_its_first_candidates() {
    for has_vectors in [false, true] {
        let Some(recalls) = measure(has_vectors) else {
            return println!("skipped: {} does not exist", folder().display());
        };
        for (toolset, recall) in &recalls {
            let [one, three, five] = recall.shares();
            println!("vectors {has_vectors} {toolset}: {} arguments, {one:.3} {three:.3} {five:.3}", recall.arguments);
        }
        if has_vectors {
            let shares = recalls["all"].shares();
            assert!(shares.iter().zip(LEAST).all(|(share, least)| *share >= least), "{shares:?}");
        }
    }
}
