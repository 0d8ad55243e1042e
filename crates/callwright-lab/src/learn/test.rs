//! Measures what was learned on requests that were not learned from.

use std::collections::{BTreeMap, HashSet};

use super::job::LearnInputs;
use super::report::{TestReport, TestScores};
use crate::OfflineError;
use crate::representation::Sample;
use crate::retrieve::tool_index;
use callwright_memory::representation::Representations;
use callwright_search::embedding::{Embedder, Vector};
use callwright_search::retrieval::{ToolIndex, ToolQuery, ToolText};

/// Measures the representations in the folder of a run.
///
/// # Errors
/// [`OfflineError`]: the representations cannot be read, or the embedder fails.
pub(super) async fn test(
    prepared: &LearnInputs,
    embedder: Option<&dyn Embedder>,
) -> Result<Option<TestReport>, OfflineError> {
    let Some(test) = &prepared.test else { return Ok(None) };
    let known: HashSet<&str> = prepared.samples.samples.iter().map(|sample| sample.query.as_str()).collect();
    let mut samples: Vec<&Sample> = test.samples.iter().collect();
    samples.retain(|sample| !known.contains(sample.query.as_str()));
    let representations = Representations::from_directory(prepared.folder()).map_err(OfflineError::Representations)?;
    let plain = prepared.texts();
    let learned = with_patterns(&plain, &representations, prepared.toolset());
    let ranking = representations.ranking(prepared.toolset());
    let classifier = representations.classifier(prepared.toolset());
    let queries = samples.iter().map(|sample| sample.query.clone()).collect();
    let vectors = match embedder {
        Some(embedder) => embedder.embed(queries).await.map_err(OfflineError::Unembedded)?,
        None => Vec::new(),
    };
    let names: Vec<&str> = plain.iter().map(|text| text.name.as_str()).collect();
    let scores = |index: &ToolIndex| scores(index, &names, &samples, &vectors);
    Ok(Some(TestReport {
        samples: samples.len(),
        seen: test.samples.len() - samples.len(),
        plain: scores(&tool_index(&plain, embedder, None, None).await?),
        patterns: scores(&tool_index(&learned, embedder, ranking, None).await?),
        learned: scores(&tool_index(&learned, embedder, ranking, classifier).await?),
    }))
}

fn with_patterns(plain: &[ToolText], representations: &Representations, toolset: Option<&str>) -> Vec<ToolText> {
    let mut texts = plain.to_vec();
    for text in &mut texts {
        let learned = match toolset {
            Some(toolset) => representations.of_tool(toolset, &text.name),
            None => representations.of_client_tool(&text.name),
        };
        text.patterns = learned.map(|learned| learned.patterns.clone()).unwrap_or_default();
    }
    texts
}

/// Counts of a tool: samples in which it is right, selected, and both.
#[derive(Debug, Clone, Copy, Default)]
struct ToolCounts {
    right: u32,
    selected: u32,
    both: u32,
}

fn scores(index: &ToolIndex, names: &[&str], samples: &[&Sample], vectors: &[Vector]) -> TestScores {
    let mut counts: BTreeMap<&str, ToolCounts> = BTreeMap::new();
    let (mut first_right, mut with_tool, mut refused, mut without_tool) = (0_u32, 0_u32, 0_u32, 0_u32);
    for (at, sample) in samples.iter().enumerate() {
        let query = ToolQuery { text: &sample.query, vector: vectors.get(at) };
        let found = index.search(&query, sample.tools.len().max(1));
        if sample.tools.is_empty() {
            without_tool += 1;
            refused += u32::from(found.is_empty());
            continue;
        }
        with_tool += 1;
        for (rank, found) in found.iter().enumerate() {
            let Some(name) = names.get(found.position).copied() else { continue };
            let is_right = sample.tools.iter().any(|tool| tool == name);
            first_right += u32::from(rank == 0 && is_right);
            let counts = counts.entry(name).or_default();
            counts.selected += 1;
            counts.both += u32::from(is_right);
        }
        for tool in &sample.tools {
            counts.entry(tool).or_default().right += 1;
        }
    }
    let (mut f1, mut tools) = (0.0, 0_u32);
    for ToolCounts { right, selected, both } in counts.into_values().filter(|counts| counts.right > 0) {
        f1 += f64::from(2 * both) / f64::from(right + selected);
        tools += 1;
    }
    TestScores {
        first_right: percent(f64::from(first_right), with_tool),
        macro_f1: percent(f1, tools),
        no_tool: (without_tool > 0).then(|| percent(f64::from(refused), without_tool)),
    }
}

fn percent(sum: f64, count: u32) -> f64 {
    100.0 * sum / f64::from(count.max(1))
}
