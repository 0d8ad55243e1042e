//! How common words are among tools, and what a query's words say for one of them.

use std::collections::HashMap;

use super::formula::{Weights, rarity};
use super::term::{Term, distinct_terms};
use super::tool_text::ToolDocument;

/// What BM25 has to know of all tools to score one.
///
/// An index makes its own. Whoever changes one tool after the other and wants to know what each change does (the learner) makes one of the tools
/// as they are at first, keeps it, and scores documents by it: `score` of one document needs no other document.
#[derive(Debug, Clone, Default)]
pub struct CollectionStatistics {
    documents: usize,
    total_length: f64,
    with_term: HashMap<Term, u32>,
    weights: Weights,
}

/// A query's terms, and how rare each of them is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QueryTerms(pub(super) Vec<(Term, f32)>);

impl CollectionStatistics {
    /// Of these documents.
    pub fn of<'a>(documents: impl IntoIterator<Item = &'a ToolDocument>) -> Self {
        let mut statistics = Self::default();
        documents.into_iter().for_each(|document| statistics.add(document));
        statistics
    }

    /// Counts a further document.
    pub fn add(&mut self, document: &ToolDocument) {
        self.documents += 1;
        self.total_length += f64::from(document.length());
        for (term, _) in document.terms() {
            *self.with_term.entry(*term).or_default() += 1;
        }
    }

    /// Counts the documents of another collection as well.
    pub(super) fn merge(&mut self, other: &Self) {
        self.documents += other.documents;
        self.total_length += other.total_length;
        for (term, with) in &other.with_term {
            *self.with_term.entry(*term).or_default() += with;
        }
    }

    /// The terms of a query. Those that no document has are as rare as those of a single one; they match where a document gets them later.
    pub fn query(&self, text: &str) -> QueryTerms {
        let rarity = |term: &Term| rarity(self.documents, self.with_term.get(term).map_or(1, |with| *with as usize));
        QueryTerms(distinct_terms(text).into_iter().map(|term| (term, rarity(&term))).collect())
    }

    /// BM25 of a document for a query, which an index with the same statistics gives too.
    pub fn score(&self, query: &QueryTerms, document: &ToolDocument) -> f32 {
        let counts = query.0.iter().map(|(term, rarity)| (document.count(*term), rarity));
        counts
            .filter(|(count, _)| *count > 0.0)
            .map(|(count, rarity)| rarity * self.saturated(count, document.length()))
            .sum()
    }

    /// How much `count` occurrences say in a document of a length.
    pub(super) fn saturated(&self, count: f32, length: f32) -> f32 {
        self.weights.saturated(count, length / self.mean_length())
    }

    fn mean_length(&self) -> f32 {
        ((self.total_length / self.documents.max(1) as f64) as f32).max(1.0)
    }
}
