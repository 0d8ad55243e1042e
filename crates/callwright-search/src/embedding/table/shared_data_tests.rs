//! Accuracy of the table on larger sample data, if available.
#![allow(clippy::print_stdout, reason = "the test reports its measurement")]

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::TableEmbedder;
use crate::embedding::{Embedder, Vector};
use callwright_test_macros::requires;

/// Interval of evaluated requests: accurate to a point or two, and fast enough without optimisation.
const REQUESTS_BETWEEN: usize = 7;

/// A tool with its plain description.
#[derive(Deserialize)]
struct Tool {
    name: String,
    description: String,
}

/// A request and the tools that serve it.
#[derive(Deserialize)]
struct LabelledRequest {
    query: String,
    tools: Vec<String>,
}

fn folder() -> PathBuf {
    let shared = std::env::var_os("CALLWRIGHT_SHARED_DATA").map(PathBuf::from);
    shared
        .unwrap_or_else(|| Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("../shared"))
        .join("data/retrieval")
}

fn lines<T: DeserializeOwned>(file: &Path) -> Vec<T> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn vectors(texts: impl Iterator<Item = &String>) -> Vec<Vector> {
    TableEmbedder::new(8192).unwrap().embed(texts.cloned().collect()).await.unwrap()
}

/// Returns the percentage of requests whose nearest description is that of a right tool.
async fn accuracy(set: &Path) -> f64 {
    let tools: Vec<Tool> = lines(&set.join("tools.jsonl"));
    let labelled: Vec<LabelledRequest> = lines(&set.join("train.jsonl"));
    let labelled: Vec<LabelledRequest> = labelled.into_iter().step_by(REQUESTS_BETWEEN).collect();
    let descriptions = vectors(tools.iter().map(|tool| &tool.description)).await;
    let requests = vectors(labelled.iter().map(|labelled| &labelled.query)).await;
    let is_right = |(labelled, request): (&LabelledRequest, &Vector)| {
        let cosines = descriptions.iter().map(|description| request.cosine(description));
        let nearest = cosines.zip(&tools).max_by(|(left, _), (right, _)| left.total_cmp(right));
        nearest.is_some_and(|(_, tool)| labelled.tools.contains(&tool.name))
    };
    let right = labelled.iter().zip(&requests).filter(|pair| is_right(*pair)).count();
    100.0 * right as f64 / labelled.len() as f64
}

#[requires("data/retrieval")]
#[tokio::test]
async fn plain_descriptions_are_found_by_meaning_alone() {
    for (set, least) in [("banking77", 53.0), ("metatool", 42.0)] {
        let accuracy = accuracy(&folder().join(set)).await;
        println!("{set}: {accuracy:.1} %");
        assert!(accuracy >= least, "{set}: {accuracy:.1} %");
    }
}
