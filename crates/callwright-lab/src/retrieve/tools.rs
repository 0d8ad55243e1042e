//! Tools to rank.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{RetrieveJob, RetrieveSummary};
use crate::lines::parse_line;
use crate::{ListedTool, ListedTools, OfflineError};
use callwright_common::progress::ProgressObserver;
use callwright_memory::representation::{Ranking, Representations};
use callwright_search::embedding::Embedder;
use callwright_search::retrieval::{
    FieldWeights, Fusion, RankedTool, SegmentClassifier, ToolClassifier, ToolIndex, ToolSegment, ToolText, embed_tools,
};

/// Indexed tools of a file.
#[derive(Debug)]
pub(super) struct RetrievalTools {
    texts: Vec<ToolText>,
    pub(super) index: ToolIndex,
}

impl RetrievalTools {
    /// Reads the tools and their learned representations, and indexes both. Unusable lines are reported to the observer
    /// and counted.
    ///
    /// # Errors
    /// [`OfflineError`] if a file cannot be read, there is no tool, or the embedder fails.
    pub(super) async fn read(
        job: &RetrieveJob,
        observer: &dyn ProgressObserver,
        summary: &mut RetrieveSummary,
    ) -> Result<Self, OfflineError> {
        let learned = match &job.representations {
            Some(directory) => Representations::from_directory(directory).map_err(OfflineError::Representations)?,
            None => Representations::default(),
        };
        let listed = ListedTools::read(&job.tools, observer)?;
        summary.problems += listed.problems;
        let mut texts: Vec<ToolText> = listed.tools.into_iter().map(text).collect();
        for text in &mut texts {
            if let Some(representation) = learned.of_client_tool(&text.name) {
                text.patterns = representation.patterns.clone();
                summary.learned += 1;
            }
        }
        summary.tools = texts.len() as u64;
        let embedder = job.embedder.as_deref();
        let classifier = learned.classifier(None);
        let fitting = classifier.filter(|classifier| classifier.fits(embedder.map(Embedder::id)));
        summary.unfit_classifier = classifier.is_some() && fitting.is_none();
        let index = tool_index(&texts, embedder, learned.ranking(None), fitting).await?;
        Ok(Self { texts, index })
    }

    /// Returns the name of the tool at a position.
    pub(super) fn name(&self, position: usize) -> Option<&str> {
        self.texts.get(position).map(|text| text.name.as_str())
    }

    /// Returns the general description of a pattern of the tool at a position.
    pub(super) fn pattern(&self, position: usize, pattern: usize) -> Option<&str> {
        self.texts.get(position)?.patterns.get(pattern).map(|pattern| pattern.description.as_str())
    }
}

/// Indexes tools with a learned ranking and classifier.
pub(crate) async fn tool_index(
    texts: &[ToolText],
    embedder: Option<&dyn Embedder>,
    ranking: Option<Ranking>,
    classifier: Option<&Arc<ToolClassifier>>,
) -> Result<ToolIndex, OfflineError> {
    let vectors = match embedder {
        Some(embedder) => Some(embed_tools(embedder, texts).await.map_err(OfflineError::Unembedded)?),
        None => None,
    };
    let names = texts.iter().map(|text| text.name.as_str());
    let classifier = classifier.map(|classifier| SegmentClassifier::new(classifier, names));
    let segment = ToolSegment::build(texts, vectors.as_deref(), &FieldWeights::default()).with_classifier(classifier);
    let learned = ranking.map(|Ranking { sharpness, words }| Fusion { sharpness, words });
    Ok(ToolIndex::new([Arc::new(segment)], learned.unwrap_or_default()))
}

fn text(tool: ListedTool) -> ToolText {
    let parameters = tool.parameters_text();
    ToolText { name: tool.name, description: tool.description, parameters, ..ToolText::default() }
}

/// Used members of a line; others are ignored.
#[derive(Deserialize)]
struct RetrievalQueryLine {
    query: Option<String>,
}

/// Members of an output line, in order.
#[derive(Serialize)]
pub(super) struct RankingLine<'a> {
    query: &'a str,
    ranked: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<Vec<RankingReason<'a>>>,
}

/// Reasons for a found tool.
#[derive(Serialize)]
struct RankingReason<'a> {
    score: f32,
    named: bool,
    words: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    meaning: Option<f32>,
    /// Cosine similarity of the tool's closest text.
    #[serde(skip_serializing_if = "Option::is_none")]
    closest: Option<f32>,
    /// Description of the pattern to which that text belongs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<&'a str>,
    /// Margin by the classifier above that of a wrong tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    margin: Option<f32>,
}

/// Returns the query of a line.
///
/// # Errors
/// The error and its remedy if the line is unusable.
pub(super) fn query_of(text: &str) -> Result<String, String> {
    let line: RetrievalQueryLine = parse_line(text, "a query", "an object with `query`")?;
    line.query.ok_or_else(|| "there is no `query`; give the text of a request".to_owned())
}

/// Returns the line of the output for a query.
pub(super) fn ranking_line<'a>(
    query: &'a str,
    found: &[RankedTool],
    tools: &'a RetrievalTools,
    details: bool,
) -> RankingLine<'a> {
    RankingLine {
        query,
        ranked: found.iter().filter_map(|found| tools.name(found.position)).collect(),
        why: details.then(|| found.iter().map(|found| why(found, tools)).collect()),
    }
}

fn why<'a>(found: &RankedTool, tools: &'a RetrievalTools) -> RankingReason<'a> {
    let closest = found.why.closest;
    let pattern = closest.and_then(|closest| tools.pattern(found.position, closest.pattern?));
    RankingReason {
        score: found.score,
        named: found.why.named,
        words: found.why.words,
        meaning: found.why.meaning,
        closest: closest.map(|closest| closest.cosine),
        pattern,
        margin: found.why.margin,
    }
}
