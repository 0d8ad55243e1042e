//! The index of all tools, which ranks them for a request.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use super::classifier::ClassifiedRequest;
use super::fusion::Fusion;
use super::mention::mentions;
use super::postings::{Lexicon, Posting, lexicon};
use super::rows::{RowQuery, VectorRows};
use super::segment::ToolSegment;
use super::statistics::{QueryTerms, WEIGHTS, length_norm};
use super::tokens::Term;
use crate::embedding::Vector;

/// Maximum size of vectors in bytes up to which a query is compared with each. That takes less than half a millisecond.
const EXACT_BYTES: usize = 2 * 1024 * 1024;

/// Number of tools of a larger index that are compared exactly: the best ones by the signs of their vectors and their
/// words. docs/benchmarks/retrieval.md documents the loss.
const FINALISTS: usize = 200;

/// An immutable index of tools by words, meaning and name. A new index shares the unchanged segments and takes
/// milliseconds.
#[derive(Debug, Clone, Default)]
pub struct ToolIndex {
    parts: Vec<IndexPart>,
    lexicon: Lexicon,
    fusion: Fusion,
    /// BM25 length normalisation of each tool's document.
    length_norms: Vec<f32>,
    vector_bytes: usize,
}

/// A segment and the position of its first tool.
#[derive(Debug, Clone)]
struct IndexPart {
    first: usize,
    segment: Arc<ToolSegment>,
}

#[derive(Debug, Clone, Copy)]
pub struct ToolQuery<'a> {
    /// Text of the request.
    pub text: &'a str,
    /// Vector of the request, from the embedder of the tools' vectors; without it, only words are compared.
    pub vector: Option<&'a Vector>,
}

/// A result of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankedTool {
    /// Position of the tool among all tools of the index, in the order of its segments.
    pub position: usize,
    /// Score; comparable only within one search, among tools with the same [`ScoreParts::named`].
    pub score: f32,
    /// Components of the score.
    pub why: ScoreParts,
}

/// Components of a score.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ScoreParts {
    /// Whether the request mentions the tool by name. Such tools rank first, regardless of their score.
    pub named: bool,
    /// BM25 score of the tool's words.
    pub words: f32,
    /// [`soft_sum`](super::fusion::soft_sum) of the tool's vectors; `None` if it was ranked by words only.
    pub meaning: Option<f32>,
    /// The tool's text that is closest in meaning.
    pub closest: Option<ClosestText>,
    /// Margin of the tool by the classifier above that of a wrong tool; `None` without a classifier.
    pub margin: Option<f32>,
}

/// The text of a tool that is closest to a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClosestText {
    /// Index of a pattern; `None` for the tool's own description.
    pub pattern: Option<usize>,
    /// Cosine similarity, -1 to 1.
    pub cosine: f32,
}

impl ToolIndex {
    /// Creates an index of the tools of all segments, in order.
    pub fn new(segments: impl IntoIterator<Item = Arc<ToolSegment>>, fusion: Fusion) -> Self {
        let mut index = Self { fusion, ..Self::default() };
        let mut lengths = Vec::new();
        for segment in segments {
            index.vector_bytes += segment.rows().map_or(0, |rows| rows.len() * rows.dimensions());
            let first = lengths.len();
            lengths.extend_from_slice(segment.lengths());
            index.parts.push(IndexPart { first, segment });
        }
        let total_length = lengths.iter().map(|length| f64::from(*length)).sum();
        index.length_norms = lengths.iter().map(|length| length_norm(*length, total_length, lengths.len())).collect();
        index.lexicon = lexicon(index.parts.iter().map(|part| part.segment.postings()));
        index
    }

    /// Returns the score without vectors. A ranking learned for words only, whose sharpness is 0, adds the prior of a
    /// tool. Any other one uses the unscaled lexical score.
    fn score_by_words(&self, part: &IndexPart, position: usize, words: f32) -> f32 {
        if self.fusion.sharpness > 0.0 {
            return words;
        }
        self.fusion.score(part.segment.prior(position - part.first), words)
    }

    /// Evaluates the classifier of the only segment, if there is one.
    fn classified(&self, query: &ToolQuery<'_>) -> Option<ClassifiedRequest<'_>> {
        match self.parts.as_slice() {
            [only] => only.segment.classifier()?.classify(query.text, query.vector),
            _ => None,
        }
    }

    /// Returns the number of tools.
    pub fn len(&self) -> usize {
        self.length_norms.len()
    }

    /// Whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.length_norms.is_empty()
    }

    /// Returns the `k` best tools for a request, best first; ties are in index order. Tools that have nothing in common
    /// with it are omitted. If a classifier assigns the request to no tool, only tools that it names are found.
    ///
    /// In a large index, only the vectors of some hundred tools are compared exactly. Occasionally a tool is missing
    /// that an exact comparison would rank among the last of the `k`.
    pub fn search(&self, query: &ToolQuery<'_>, k: usize) -> Vec<RankedTool> {
        let finalists = FINALISTS.max(k);
        self.search_among(query, k, if self.vector_bytes > EXACT_BYTES { finalists } else { self.len() })
    }

    /// Searches like [`ToolIndex::search`], with an exact comparison of all vectors.
    pub fn search_exactly(&self, query: &ToolQuery<'_>, k: usize) -> Vec<RankedTool> {
        self.search_among(query, k, self.len())
    }

    /// Whether all tools can be compared with the query. If some have no vectors yet, all are compared by words only. A
    /// combined score would rank every tool with vectors before those without.
    fn has_rows_for(&self, vector: &RowQuery) -> bool {
        self.vector_bytes > 0 && self.parts.iter().all(|part| part.segment.is_empty() || part.rows(vector).is_some())
    }

    /// Returns the BM25 score of each tool.
    fn words(&self, text: &str) -> Vec<f32> {
        let mut words = vec![0.0; self.len()];
        for (term, rarity) in QueryTerms::new(text, self.len(), |term| self.tools_with(term)).iter() {
            for (part, postings) in self.postings(term) {
                let of_part = words.get_mut(part.positions()).unwrap_or_default();
                let length_norms = self.length_norms.get(part.positions()).unwrap_or_default();
                for Posting { position, count } in postings {
                    let at = *position as usize;
                    if let (Some(words), Some(length_norm)) = (of_part.get_mut(at), length_norms.get(at)) {
                        *words += rarity * WEIGHTS.saturated(*count, *length_norm);
                    }
                }
            }
        }
        words
    }

    fn tools_with(&self, term: Term) -> usize {
        self.postings(term).map(|(_, postings)| postings.len()).sum()
    }

    fn postings(&self, term: Term) -> impl Iterator<Item = (&IndexPart, &[Posting])> {
        self.lexicon.of_term(term).iter().filter_map(|range| {
            let part = self.parts.get(range.segment as usize)?;
            Some((part, part.segment.postings().within(range.begin, range.end)))
        })
    }

    fn search_among(&self, query: &ToolQuery<'_>, k: usize, finalists: usize) -> Vec<RankedTool> {
        let mut ranked = ToolSearch::new(self, query).ranked(finalists);
        if k < ranked.len() {
            ranked.select_nth_unstable_by(k, order);
            ranked.truncate(k);
        }
        ranked.sort_unstable_by(order);
        ranked
    }
}

/// A query in progress.
struct ToolSearch<'a> {
    index: &'a ToolIndex,
    vector: Option<RowQuery>,
    /// BM25 score of each tool.
    words: Vec<f32>,
    /// Tools that the query mentions by name, sorted.
    named: Vec<usize>,
    classified: Option<ClassifiedRequest<'a>>,
}

impl<'a> ToolSearch<'a> {
    fn new(index: &'a ToolIndex, query: &ToolQuery<'_>) -> Self {
        let mentions = mentions(query.text);
        let named = index.parts.iter().flat_map(|part| part.segment.mentioned(&mentions).map(|at| part.first + at));
        let mut named: Vec<usize> = named.collect();
        named.sort_unstable();
        let vector = query.vector.and_then(|vector| RowQuery::new(vector, &index.fusion));
        let vector = vector.filter(|vector| index.has_rows_for(vector));
        // Until the tools have vectors, scores of words are not comparable with margins.
        let classified = index.classified(query).filter(|_| vector.is_some() || query.vector.is_none());
        Self { index, vector, words: index.words(query.text), named, classified }
    }

    /// Returns the tools that have something in common with the query, with exact scores. If there are more than
    /// `finalists` tools, only the best ones by the approximate score.
    fn ranked(&self, finalists: usize) -> Vec<RankedTool> {
        let mut ranked = Vec::new();
        if self.classified.as_ref().is_some_and(ClassifiedRequest::is_of_no_tool) {
            for position in &self.named {
                ranked.extend(self.part_of(*position).and_then(|part| self.exact(part, *position)));
            }
            return ranked;
        }
        if let Some(vector) = self.vector.as_ref().filter(|_| finalists < self.index.len()) {
            for position in self.finalists(vector, finalists) {
                let part = self.part_of(position);
                ranked.extend(part.and_then(|part| self.exact(part, position)));
            }
            return ranked;
        }
        for part in &self.index.parts {
            ranked.extend(part.positions().filter_map(|position| self.exact(part, position)));
        }
        ranked
    }

    /// Returns the best tools by the signs of their vectors and their words, and those that are named, sorted.
    fn finalists(&self, vector: &RowQuery, count: usize) -> Vec<usize> {
        let mut rough: Vec<(f32, u32)> = Vec::with_capacity(self.index.len());
        for part in &self.index.parts {
            let mut positions = part.positions();
            let mut push = |meaning: f32| {
                let Some(position) = positions.next() else { return };
                let score = self.with_margin(position, self.index.fusion.score(meaning, self.words_of(position)));
                rough.push((score, u32::try_from(position).unwrap_or(u32::MAX)));
            };
            match part.rows(vector) {
                Some(rows) => rows.rough_meanings(vector, push),
                None => (0..part.segment.len()).for_each(|_| push(0.0)),
            }
        }
        if count < rough.len() {
            rough.select_nth_unstable_by(count, |left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
            rough.truncate(count);
        }
        let mut finalists: Vec<usize> = rough.iter().map(|(_, position)| *position as usize).collect();
        finalists.extend(&self.named);
        finalists.sort_unstable();
        finalists.dedup();
        finalists
    }

    /// Returns a tool with its exact score; `None` if it has nothing in common with the query.
    fn exact(&self, part: &IndexPart, position: usize) -> Option<RankedTool> {
        let (words, margin) = (self.words_of(position), self.margin(position));
        let named = self.named.binary_search(&position).is_ok();
        let mut why = ScoreParts { named, words, margin, ..ScoreParts::default() };
        let score = match &self.vector {
            None => self.index.score_by_words(part, position, words),
            Some(vector) => {
                why.meaning = part.rows(vector).map(|rows| {
                    let mut texts = 0..;
                    let closeness = rows.closeness(vector, position - part.first).inspect(|(cosine, _)| {
                        let pattern = texts.next().and_then(|at: usize| at.checked_sub(1));
                        if why.closest.is_none_or(|closest: ClosestText| *cosine >= closest.cosine) {
                            why.closest = Some(ClosestText { pattern, cosine: *cosine });
                        }
                    });
                    self.index.fusion.meaning(closeness)
                });
                self.index.fusion.score(why.meaning.unwrap_or_default(), words)
            }
        };
        let is_similar = match self.vector {
            Some(_) => why.closest.is_some_and(|closest| closest.cosine > 0.0),
            None => margin.is_some_and(|margin| margin > 0.0),
        };
        let score = self.with_margin(position, score);
        (named || words > 0.0 || is_similar).then_some(RankedTool { position, score, why })
    }

    /// Returns the margin of a tool by the classifier, if there is one.
    fn margin(&self, position: usize) -> Option<f32> {
        self.classified.as_ref().map(|classified| classified.margin(position))
    }

    /// Returns a score with the contribution of the classifier.
    fn with_margin(&self, position: usize, score: f32) -> f32 {
        self.classified.as_ref().map_or(score, |classified| classified.score(position, score))
    }

    fn words_of(&self, position: usize) -> f32 {
        self.words.get(position).copied().unwrap_or_default()
    }

    fn part_of(&self, position: usize) -> Option<&'a IndexPart> {
        let behind = self.index.parts.partition_point(|part| part.first <= position);
        self.index.parts.get(behind.checked_sub(1)?)
    }
}

impl IndexPart {
    /// Returns the positions of its tools.
    fn positions(&self) -> Range<usize> {
        self.first..self.first + self.segment.len()
    }

    /// Returns the vectors of its tools, if they are comparable with the query's.
    fn rows(&self, vector: &RowQuery) -> Option<&VectorRows> {
        self.segment.rows().filter(|rows| rows.take(vector))
    }
}

/// Orders better results first.
fn order(left: &RankedTool, right: &RankedTool) -> Ordering {
    let better = right.why.named.cmp(&left.why.named).then(right.score.total_cmp(&left.score));
    better.then(left.position.cmp(&right.position))
}
