//! Term statistics of tools, and the score of a query's terms for a tool.

use std::collections::HashMap;

use super::formula::{Weights, rarity};
use super::function_words::is_function_word;
use super::tokens::{Term, distinct_terms};
use super::tool_text::ToolDocument;

/// BM25 parameters for tools. Documents of tools are short without and long with learned patterns, so repetitions
/// saturate later than in running text. Measured on requests for 77 to 4,076 tools (docs/benchmarks/retrieval.md).
pub(super) const WEIGHTS: Weights = Weights { k1: 2.0, b: 0.75 };

/// Share of its inverse document frequency that a function word keeps in a request. Few tools are described with such
/// words, which makes them seem rare. The remaining share (`how`, `why`, `not`) distinguishes similar tools.
const FUNCTION_WORD_SHARE: f32 = 0.3;

/// The statistics of all tools that BM25 requires to score one.
///
/// An index computes its own. A caller that changes tools one by one and measures each change (the learner) computes
/// the statistics of the initial tools, keeps them, and scores documents with them: `score` of one document requires no
/// other document.
#[derive(Debug, Clone, Default)]
pub struct CollectionStatistics {
    documents: usize,
    total_length: f64,
    with_term: HashMap<Term, u32>,
}

/// A query's terms with their inverse document frequencies.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QueryTerms(Vec<(Term, f32)>);

impl CollectionStatistics {
    /// Computes the statistics of these documents.
    pub fn new<'a>(documents: impl IntoIterator<Item = &'a ToolDocument>) -> Self {
        let mut statistics = Self::default();
        documents.into_iter().for_each(|document| statistics.add(document));
        statistics
    }

    pub fn add(&mut self, document: &ToolDocument) {
        self.documents += 1;
        self.total_length += f64::from(document.length());
        for (term, _) in document.terms() {
            *self.with_term.entry(*term).or_default() += 1;
        }
    }

    /// Returns the terms of a query. Terms that no document contains are as rare as those of a single one; they match
    /// if a document gains them later.
    pub fn query(&self, text: &str) -> QueryTerms {
        QueryTerms::new(text, self.documents, |term| self.with_term.get(&term).map_or(0, |with| *with as usize))
    }

    /// Returns the BM25 score of a document for a query, which equals that of an index of the same documents.
    pub fn score(&self, query: &QueryTerms, document: &ToolDocument) -> f32 {
        let length_norm = length_norm(document.length(), self.total_length, self.documents);
        let counts = query.0.iter().map(|(term, rarity)| (document.count(*term), rarity));
        counts
            .filter(|(count, _)| *count > 0.0)
            .map(|(count, rarity)| rarity * WEIGHTS.saturated(count, length_norm))
            .sum()
    }
}

impl QueryTerms {
    /// Returns each term with its inverse document frequency.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Term, f32)> {
        self.0.iter().copied()
    }

    /// Returns the terms of a request to `tools` tools; `with` returns the number of tools that contain a term.
    pub(super) fn new(text: &str, tools: usize, with: impl Fn(Term) -> usize) -> Self {
        let terms = distinct_terms(text).into_iter().map(|term| {
            let share = if is_function_word(term) { FUNCTION_WORD_SHARE } else { 1.0 };
            (term, share * rarity(tools, with(term).max(1)))
        });
        Self(terms.collect())
    }
}

/// Returns the length normalisation of a document, relative to the mean length of `documents` documents.
pub(super) fn length_norm(length: f32, total_length: f64, documents: usize) -> f32 {
    let mean_length = ((total_length / documents.max(1) as f64) as f32).max(1.0);
    WEIGHTS.length_norm(length / mean_length)
}
