//! Tools to rank.

use std::sync::Arc;

use super::job::{RetrieveJob, RetrieveSummary};
use crate::{ListedTool, ListedTools, OfflineError};
use callwright_common::progress::ProgressObserver;
use callwright_knowledge::representation::{Ranking, Representations};
use callwright_search::embedding::Embedder;
use callwright_search::retrieval::{
    FieldWeights, Fusion, SegmentClassifier, ToolClassifier, ToolIndex, ToolSegment, ToolText, embed_tools,
};

/// Indexed tools of a file.
#[derive(Debug)]
pub(super) struct RetrievalTools {
    texts: Vec<ToolText>,
    index: ToolIndex,
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

    pub(super) fn index(&self) -> &ToolIndex {
        &self.index
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
///
/// # Errors
/// [`OfflineError::Unembedded`].
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
