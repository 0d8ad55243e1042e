//! Vectors of tools, and their similarity to a query.

use std::ops::Range;

use super::fusion::Fusion;
use super::tool_text::{ToolText, sane};
use super::tool_vectors::ToolVectors;
use crate::embedding::{QuantisedQuery, QuantisedVectors, SignQuery, SignVectors, Vector};

/// Vectors of all tools in order: for each tool its own vector, then those of its patterns.
#[derive(Debug, Clone)]
pub(super) struct VectorRows {
    numbers: QuantisedVectors,
    signs: SignVectors,
    weights: Vec<f32>,
    /// End of each tool's vectors.
    ends: Vec<u32>,
}

/// A query's vector in the forms that rows are compared with.
#[derive(Debug, Clone)]
pub(super) struct RowQuery {
    dimensions: usize,
    numbers: QuantisedQuery,
    signs: SignQuery,
    /// exp(sharpness · (cosine − 1)) for each number of differing signs. It is relative to the maximum, so that no
    /// sharpness causes an overflow.
    powers: Vec<f32>,
    /// sharpness · cosine for each number of differing signs.
    exponents: Vec<f32>,
    sharpness: f32,
}

impl RowQuery {
    /// Prepares a query; `None` for the zero vector, to which all tools would be equally similar.
    pub(super) fn new(vector: &Vector, fusion: &Fusion) -> Option<Self> {
        let (dimensions, sharpness) = (vector.components().len(), fusion.sharpness);
        let is_nonzero = vector.components().iter().any(|component| *component != 0.0);
        let exponents: Vec<f32> =
            (0..=dimensions).map(|differences| sharpness * SignVectors::cosine(differences, dimensions)).collect();
        is_nonzero.then(|| Self {
            dimensions,
            numbers: QuantisedQuery::new(vector),
            signs: SignQuery::new(vector),
            powers: exponents.iter().map(|exponent| (exponent - sharpness).exp()).collect(),
            exponents,
            sharpness,
        })
    }
}

impl VectorRows {
    pub(super) fn new(tools: &[ToolText], vectors: &[ToolVectors]) -> Self {
        let dimensions = vectors.first().map_or(0, |vectors| vectors.description.components().len());
        let count = vectors.iter().map(|vectors| 1 + vectors.patterns.len()).sum();
        let mut rows = Self {
            numbers: QuantisedVectors::with_capacity(dimensions, count),
            signs: SignVectors::with_capacity(dimensions, count),
            weights: Vec::with_capacity(count),
            ends: Vec::with_capacity(tools.len()),
        };
        for (tool, vectors) in tools.iter().zip(vectors) {
            rows.push(&vectors.description, 1.0);
            for (pattern, vector) in tool.patterns.iter().zip(&vectors.patterns) {
                rows.push(vector, pattern.weight);
            }
            rows.ends.push(u32::try_from(rows.weights.len()).unwrap_or(u32::MAX));
        }
        rows
    }

    fn push(&mut self, vector: &Vector, weight: f32) {
        self.numbers.push(vector);
        self.signs.push(vector);
        self.weights.push(sane(weight));
    }

    /// Returns the number of vectors.
    pub(super) fn len(&self) -> usize {
        self.weights.len()
    }

    /// Returns the number of components per vector.
    pub(super) fn dimensions(&self) -> usize {
        self.signs.dimensions()
    }

    /// Whether the query is comparable, which requires the same embedder.
    pub(super) fn take(&self, query: &RowQuery) -> bool {
        query.dimensions == self.dimensions()
    }

    /// Returns cosine and weight of each text of a tool: its own, then its patterns'.
    pub(super) fn closeness(&self, query: &RowQuery, position: usize) -> impl Iterator<Item = (f32, f32)> {
        let range = self.range(position);
        let weights = self.weights.get(range.clone()).unwrap_or_default();
        self.numbers.cosines_within(&query.numbers, range).into_iter().zip(weights.iter().copied())
    }

    /// Passes the approximate semantic score of each tool to `report`, in the order of the tools. Uses signs only.
    pub(super) fn rough_meanings(&self, query: &RowQuery, mut report: impl FnMut(f32)) {
        let differences = self.signs.differences(&query.signs);
        let differences = |row: usize| differences.get(row).map_or(usize::MAX, |differences| *differences as usize);
        let mut begin = 0;
        for end in self.ends.iter().map(|end| *end as usize) {
            report(match self.weights.get(begin..end) {
                // Fast path without a logarithm: most tools have one text.
                Some([1.0]) => query.exponents.get(differences(begin)).copied().unwrap_or_default(),
                weights => {
                    let (mut sum, mut total) = (0.0_f32, 0.0_f32);
                    for (row, weight) in (begin..end).zip(weights.unwrap_or_default()) {
                        sum += weight * query.powers.get(differences(row)).copied().unwrap_or_default();
                        total += weight;
                    }
                    query.sharpness + (sum / total.sqrt()).max(f32::MIN_POSITIVE).ln()
                }
            });
            begin = end;
        }
    }

    /// Returns the rows of a tool.
    fn range(&self, position: usize) -> Range<usize> {
        position.checked_sub(1).map_or(0, |before| self.end(before))..self.end(position)
    }

    fn end(&self, position: usize) -> usize {
        self.ends.get(position).map_or(self.weights.len(), |end| *end as usize)
    }
}
