//! Index segments: tools that are indexed together, such as those of a toolset or of one request.

use super::classifier::SegmentClassifier;
use super::fusion::soft_sum;
use super::postings::{Posting, Postings, postings};
use super::rows::VectorRows;
use super::tokens::Term;
use super::tool_text::{FieldWeights, ToolDocument, ToolText};
use super::tool_vectors::ToolVectors;

/// The index of some tools, without data that depends on other tools. An index of many toolsets consists of such
/// segments, and a change rebuilds only the segment of one toolset.
#[derive(Debug, Clone, Default)]
pub struct ToolSegment {
    lengths: Vec<f32>,
    postings: Postings,
    /// Names of the tools, sorted, with their positions.
    names: Vec<(Term, u32)>,
    rows: Option<VectorRows>,
    /// Score of each tool by its patterns' weights only: [`prior`].
    priors: Vec<f32>,
    classifier: Option<SegmentClassifier>,
}

impl ToolSegment {
    /// Indexes tools; if `vectors` are given, one for each tool, by meaning too.
    pub fn build(tools: &[ToolText], vectors: Option<&[ToolVectors]>, weights: &FieldWeights) -> Self {
        let mut segment = Self::default();
        let mut found = Vec::new();
        for (position, tool) in (0_u32..).zip(tools) {
            let document = ToolDocument::new(tool, weights);
            segment.lengths.push(document.length());
            segment.priors.push(prior(tool));
            found.extend(document.terms().iter().map(|(term, count)| (*term, Posting { position, count: *count })));
            if !tool.name.is_empty() {
                segment.names.push((Term::of(&tool.name), position));
            }
        }
        segment.names.sort_unstable();
        segment.postings = postings(found);
        segment.rows = vectors.map(|vectors| VectorRows::new(tools, vectors));
        segment
    }

    /// Returns the segment with the vectors of `tools`, which it indexes.
    #[must_use]
    pub fn with_vectors(self, tools: &[ToolText], vectors: &[ToolVectors]) -> Self {
        Self { rows: Some(VectorRows::new(tools, vectors)), ..self }
    }

    /// Adds a classifier of requests for the indexed tools.
    #[must_use]
    pub fn with_classifier(self, classifier: Option<SegmentClassifier>) -> Self {
        Self { classifier, ..self }
    }

    /// Returns the classifier, if there is one.
    pub(super) fn classifier(&self) -> Option<&SegmentClassifier> {
        self.classifier.as_ref()
    }

    /// Returns the number of tools.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Returns the weighted number of words of each tool.
    pub(super) fn lengths(&self) -> &[f32] {
        &self.lengths
    }

    /// Returns the postings of the tools' terms.
    pub(super) fn postings(&self) -> &Postings {
        &self.postings
    }

    /// Returns the tools whose names a query mentions.
    pub(super) fn mentioned(&self, mentions: &[Term]) -> impl Iterator<Item = usize> {
        mentions.iter().copied().flat_map(|name| {
            let begin = self.names.partition_point(|(term, _)| *term < name);
            let rest = self.names.get(begin..).unwrap_or_default();
            rest.iter().take_while(move |(term, _)| *term == name).map(|(_, position)| *position as usize)
        })
    }

    /// Returns the score of a tool without vectors, by its patterns' weights only.
    pub(super) fn prior(&self, position: usize) -> f32 {
        self.priors.get(position).copied().unwrap_or_default()
    }

    /// Returns the tools' vectors, if there are any.
    pub(super) fn rows(&self) -> Option<&VectorRows> {
        self.rows.as_ref()
    }
}

/// Returns [`soft_sum`] at sharpness 0, where all texts are equally similar. It is the part of the score that a ranking
/// learned for words only assigns before the lexical score.
fn prior(tool: &ToolText) -> f32 {
    let weights = std::iter::once(1.0).chain(tool.patterns.iter().map(|pattern| pattern.weight));
    soft_sum(0.0, weights.map(|weight| (0.0, weight)))
}
