//! Tools that are indexed together: a toolset's, or those of one request.

use std::collections::HashMap;
use std::ops::Range;

use super::mention::Mentions;
use super::postings::Postings;
use super::statistics::{CollectionStatistics, QueryTerms};
use super::tool_text::{FieldWeights, ToolDocument, ToolText};
use super::tool_vectors::ToolVectors;
use crate::embedding::{QuantisedQuery, QuantisedVectors};

/// The index of some tools, without what depends on others: an index of many toolsets is put together from such parts, and only that of a
/// toolset that changed is made anew.
#[derive(Debug, Clone, Default)]
pub struct ToolSegment {
    lengths: Vec<f32>,
    postings: Postings,
    statistics: CollectionStatistics,
    mentions: HashMap<String, Vec<u32>>,
    vectors: Option<Rows>,
}

/// The vectors of all tools, one tool's after the other's: each time that of the tool itself, then those of its patterns.
#[derive(Debug, Clone)]
pub(super) struct Rows {
    numbers: QuantisedVectors,
    weights: Vec<f32>,
    /// Where each tool's vectors end.
    ends: Vec<u32>,
}

impl ToolSegment {
    /// Indexes tools; with `vectors`, one for each of them, by meaning too.
    pub fn build(tools: &[ToolText], vectors: Option<&[ToolVectors]>, weights: &FieldWeights) -> Self {
        let mut segment = Self::default();
        for (position, tool) in (0_u32..).zip(tools) {
            let document = ToolDocument::of(tool, weights);
            segment.statistics.add(&document);
            segment.lengths.push(document.length());
            document.terms().iter().for_each(|(term, count)| segment.postings.add(*term, position, *count));
            if !tool.name.is_empty() {
                segment.mentions.entry(tool.name.clone()).or_default().push(position);
            }
        }
        segment.postings.shrink();
        segment.vectors = vectors.map(|vectors| Rows::of(tools, vectors));
        segment
    }

    /// How many tools it has.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Has it none?
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// What BM25 has to know of its tools.
    pub(super) fn statistics(&self) -> &CollectionStatistics {
        &self.statistics
    }

    /// Adds BM25 for a query to the score of each tool.
    pub(super) fn add_words(&self, query: &QueryTerms, statistics: &CollectionStatistics, scores: &mut [f32]) {
        for (term, rarity) in &query.0 {
            for posting in self.postings.of(*term) {
                let position = posting.position as usize;
                let (Some(score), Some(length)) = (scores.get_mut(position), self.lengths.get(position)) else {
                    continue;
                };
                *score += rarity * statistics.saturated(posting.count, *length);
            }
        }
    }

    /// Tools whose names a query mentions.
    pub(super) fn mentioned(&self, mentions: &Mentions<'_>) -> impl Iterator<Item = usize> {
        mentions.iter().filter_map(|name| self.mentions.get(name)).flatten().map(|position| *position as usize)
    }

    /// The tools' vectors, where they have any.
    pub(super) fn rows(&self) -> Option<&Rows> {
        self.vectors.as_ref()
    }
}

impl Rows {
    fn of(tools: &[ToolText], vectors: &[ToolVectors]) -> Self {
        let dimensions = vectors.first().map_or(0, |vectors| vectors.description.components().len());
        let mut rows = Self { numbers: QuantisedVectors::new(dimensions), weights: Vec::new(), ends: Vec::new() };
        for (tool, vectors) in tools.iter().zip(vectors) {
            rows.push(&vectors.description, 1.0);
            for (pattern, vector) in tool.patterns.iter().zip(&vectors.patterns) {
                rows.push(vector, pattern.weight);
            }
            rows.ends.push(u32::try_from(rows.weights.len()).unwrap_or(u32::MAX));
        }
        rows
    }

    fn push(&mut self, vector: &crate::embedding::Vector, weight: f32) {
        self.numbers.push(vector);
        self.weights.push(weight);
    }

    /// The rows of a tool.
    fn range(&self, position: usize) -> Range<usize> {
        let end = |position: usize| self.ends.get(position).map_or(self.weights.len(), |end| *end as usize);
        position.checked_sub(1).map_or(0, end)..end(position)
    }

    /// Cosine and weight of each text of a tool: its own, then its patterns'.
    pub(super) fn closeness(&self, query: &QuantisedQuery, position: usize) -> impl Iterator<Item = (f32, f32)> {
        let weights = self.weights.get(self.range(position)).unwrap_or_default();
        self.numbers.cosines_within(query, self.range(position)).zip(weights.iter().copied())
    }
}
