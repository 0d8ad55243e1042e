//! How common words are among tools, and what a query's words say for one of them.

use std::collections::HashMap;

use super::formula::{Weights, rarity};
use super::function_words::is_function_word;
use super::term::{Term, distinct_terms};
use super::tool_text::ToolDocument;

/// BM25's parameters for tools. Their documents are short where nothing is learned and long where much is, so repetition stops counting later
/// than in running text; measured on requests for 77 to 4,076 tools (BENCHMARKS.md).
const WEIGHTS: Weights = Weights { k1: 2.0, b: 0.75 };

/// How much of its rarity a word of grammar keeps in a request. Few tools are described in such words, which makes them look rare; the rest of what
/// they say (`how`, `why`, `not`) tells alike tools apart.
const FUNCTION_WORD_SHARE: f32 = 0.3;

/// What BM25 has to know of all tools to score one.
///
/// An index makes its own. Whoever changes one tool after the other and wants to know what each change does (the learner) makes one of the tools
/// as they are at first, keeps it, and scores documents by it: `score` of one document needs no other document.
#[derive(Debug, Clone, Default)]
pub struct CollectionStatistics {
    documents: usize,
    total_length: f64,
    with_term: HashMap<Term, u32>,
}

/// A query's terms, and how rare each of them is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QueryTerms(Vec<(Term, f32)>);

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

    /// The terms of a query. Those that no document has are as rare as those of a single one; they match where a document gets them later.
    pub fn query(&self, text: &str) -> QueryTerms {
        let with = |term: Term| self.with_term.get(&term).map_or(0, |with| *with as usize);
        QueryTerms::of(text, self.documents, with)
    }

    /// BM25 of a document for a query, which an index of the same documents gives too.
    pub fn score(&self, query: &QueryTerms, document: &ToolDocument) -> f32 {
        let restraint = restraint(document.length(), self.total_length, self.documents);
        let counts = query.0.iter().map(|(term, rarity)| (document.count(*term), rarity));
        counts.filter(|(count, _)| *count > 0.0).map(|(count, rarity)| rarity * saturated(count, restraint)).sum()
    }
}

impl QueryTerms {
    /// Each term, and how rare it is.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Term, f32)> {
        self.0.iter().copied()
    }

    /// The terms of a request to a number of tools, of which `with` have a term.
    pub(super) fn of(text: &str, tools: usize, with: impl Fn(Term) -> usize) -> Self {
        let rarity = |term: Term| {
            let share = if is_function_word(term) { FUNCTION_WORD_SHARE } else { 1.0 };
            share * rarity(tools, with(term).max(1))
        };
        Self(distinct_terms(text).into_iter().map(|term| (term, rarity(term))).collect())
    }
}

/// How much `count` occurrences say in a document of a [`restraint`].
pub(super) fn saturated(count: f32, restraint: f32) -> f32 {
    WEIGHTS.saturated(count, restraint)
}

/// How much a document of a length holds back what it repeats, among documents of these lengths in all.
pub(super) fn restraint(length: f32, total_length: f64, documents: usize) -> f32 {
    let mean_length = ((total_length / documents.max(1) as f64) as f32).max(1.0);
    WEIGHTS.restraint(length / mean_length)
}
