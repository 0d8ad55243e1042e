//! Searches lessons by the rare words of a request first, with bounded cost per request.
//!
//! Words are processed from the rarest to the most frequent, and each lesson that contains one is a candidate. Once the
//! step limit is reached, more frequent words still add to the scores of candidates but create no new ones: the
//! `continue` strategy of Moffat and Zobel, "Self-indexing inverted files for fast text retrieval", TOIS 14, 1996. This
//! affects only words that tens of thousands of lessons share, which carry almost no information. Among lessons that
//! match only such words, those with the shortest keys are found.

use std::cmp::Ordering;
use std::sync::Arc;

use super::entry::purpose_term;
use super::query::{RecallQuery, Recollection, ToolInPlay};
use super::segment::LessonSegment;
use super::shelf::LessonIndex;
use super::walk::{LessonScorer, said};
use crate::experience::Settings;
use crate::experience::merge::{is_conflict, latest};
use callwright_search::embedding::{QuantisedQuery, Vector};
use callwright_search::retrieval::{Term, Weights, content_terms, rarity};
use callwright_types::memory::ClientFacts;

/// Maximum number of request words that are looked up, rarest first.
const MAX_TERMS: usize = 64;

/// Maximum number of lessons and groups of lessons that are visited to collect candidates.
const MAX_STEPS: usize = 20_000;

/// Number of candidates that are scored exactly, with all words and with meaning.
const FINALISTS: usize = 128;

/// Key length, in words, above which the length no longer affects the score.
const LONGEST_KEY: usize = 255;

/// Returns the best lessons of a scope for a request.
pub(super) fn search(shelf: &LessonIndex, query: &RecallQuery<'_>, settings: &Settings) -> Vec<Recollection> {
    let search = LessonSearch::new(shelf, query, settings);
    let mut scored: Vec<Recollection> = Vec::new();
    for ScoredLesson { part, position, .. } in search.candidates(query) {
        scored.extend(search.exact(part, position as usize, query.tools));
    }
    scored.sort_by(order);
    scored.truncate(query.most);
    newest_first(&mut scored, settings);
    scored
}

/// Orders contradicting lessons by their latest confirmation, the newest first.
fn newest_first(found: &mut [Recollection], settings: &Settings) {
    for first in 0..found.len() {
        for second in first + 1..found.len() {
            let (Some(one), Some(other)) = (found.get(first), found.get(second)) else { continue };
            let is_older = latest(&one.lesson) < latest(&other.lesson);
            if is_older && is_conflict(&one.lesson, &other.lesson, settings) {
                found.swap(first, second);
            }
        }
    }
}

/// Orders by score, best first, then by the latest confirmation.
fn order(one: &Recollection, other: &Recollection) -> Ordering {
    let by_score = other.score.total_cmp(&one.score);
    by_score
        .then_with(|| latest(&other.lesson).cmp(&latest(&one.lesson)))
        .then_with(|| one.lesson.id.cmp(&other.lesson.id))
}

/// Whether every lesson has a vector with the same dimensions as this one.
fn is_comparable(shelf: &LessonIndex, vector: &Vector) -> bool {
    let dimensions = Some(vector.components().len());
    let fits = |segment: &LessonSegment| segment.entries().is_empty() || segment.dimensions() == dimensions;
    shelf.parts().iter().all(|(segment, _)| fits(segment))
}

/// State of one search in the lessons of a scope.
struct LessonSearch<'a> {
    shelf: &'a LessonIndex,
    settings: &'a Settings,
    /// Request words that occur in keys, the rarest first, with their rarity.
    terms: Vec<(Term, f32)>,
    /// Same terms, sorted by term.
    sorted: Vec<(Term, f32)>,
    /// Rarity of a word that occurs in a single key.
    rarest: f32,
    /// BM25 weight of a single occurrence, by the number of words in the key.
    saturation: Vec<f32>,
    vector: Option<QuantisedQuery>,
}

/// Lesson that contains at least one of the words.
#[derive(Debug, Clone, Copy)]
struct ScoredLesson {
    score: f32,
    part: usize,
    position: u32,
}

impl<'a> LessonSearch<'a> {
    fn new(shelf: &'a LessonIndex, query: &RecallQuery<'_>, settings: &'a Settings) -> Self {
        let lessons = shelf.statistics().lessons;
        let text = beginning(query.text, settings.query_chars);
        let mut wanted = content_terms(text);
        let purposes: Vec<Term> = query.tools.iter().filter_map(|tool| asked_for(tool, &wanted)).collect();
        wanted.extend(purposes);
        let known = wanted.into_iter().map(|term| (term, shelf.lessons_with(term)));
        let mut known: Vec<(Term, usize)> = known.filter(|(_, with)| *with > 0).collect();
        known.sort_by_key(|(term, with)| (*with, *term));
        known.truncate(MAX_TERMS);
        let terms: Vec<(Term, f32)> = known.into_iter().map(|(term, with)| (term, rarity(lessons, with))).collect();
        let mut sorted = terms.clone();
        sorted.sort_unstable_by_key(|(term, _)| *term);
        let vector = query.vector.filter(|vector| is_comparable(shelf, vector)).map(QuantisedQuery::of);
        let saturation = saturation(shelf);
        Self { shelf, settings, terms, sorted, rarest: rarity(lessons, 1), saturation, vector }
    }

    /// Returns the lessons with the highest scores for the rare words of the request.
    fn candidates(&self, query: &RecallQuery<'_>) -> Vec<ScoredLesson> {
        let parts = self.shelf.parts();
        let mut walks = parts.map(|(segment, gone)| LessonScorer::new(segment, gone, query.tools));
        let mut steps = MAX_STEPS;
        for (term, rarity) in &self.terms {
            for walk in &mut walks {
                walk.add(*term, *rarity, &self.saturation, &mut steps);
            }
            if steps == 0 {
                break;
            }
        }
        let mut candidates = Vec::new();
        for (part, walk) in walks.iter().enumerate() {
            let score = |position: &u32| walk.scores.get(*position as usize).copied().unwrap_or_default();
            let found = walk.touched.iter();
            candidates.extend(found.map(|position| ScoredLesson { score: score(position), part, position: *position }));
        }
        let finalists = FINALISTS.max(query.most);
        if finalists < candidates.len() {
            candidates.select_nth_unstable_by(finalists, |one, other| {
                other.score.total_cmp(&one.score).then((one.part, one.position).cmp(&(other.part, other.position)))
            });
            candidates.truncate(finalists);
        }
        candidates
    }

    /// Returns a candidate with its complete score. Returns `None` if the request contains too little of its key, or if
    /// the lesson concerns a client's own tool that is not in play.
    fn exact(&self, part: usize, position: usize, tools: &[ToolInPlay<'_>]) -> Option<Recollection> {
        let (segment, _) = self.shelf.parts().into_iter().nth(part)?;
        let entry = segment.entries().get(position)?;
        let mut needed = entry.lesson.client.iter().flat_map(ClientFacts::tools);
        if !needed.all(|needed| tools.iter().any(|tool| tool.is_client(needed))) {
            return None;
        }
        let (mut words, mut matched) = (0.0_f32, 0_usize);
        for term in &entry.terms {
            if let Ok(at) = self.sorted.binary_search_by_key(term, |(term, _)| *term) {
                matched += 1;
                words += self.sorted.get(at).map_or(0.0, |(_, rarity)| *rarity);
            }
        }
        let matched = matched as f32 / entry.terms.len().max(1) as f32;
        if matched < self.settings.least_match {
            return None;
        }
        let words = words * said(&self.saturation, entry.terms.len()) / self.rarest;
        let meaning = self.vector.as_ref().and_then(|vector| segment.cosine(vector, position)).unwrap_or_default();
        let score = self.settings.word_weight * words + self.settings.vector_weight * meaning.max(0.0);
        Some(Recollection { lesson: Arc::clone(&entry.lesson), score, matched })
    }
}

/// Returns the purpose term of a client's own tool if the request shares a word with the purpose.
fn asked_for(tool: &ToolInPlay<'_>, request: &[Term]) -> Option<Term> {
    let fingerprint = tool.fingerprint?;
    let purpose = content_terms(tool.purpose);
    purpose.iter().any(|term| request.contains(term)).then(|| purpose_term(fingerprint))
}

/// Returns the first `chars` characters of a text.
fn beginning(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// Returns the BM25 weight of a single occurrence in keys of 0, 1, 2 ... words.
fn saturation(shelf: &LessonIndex) -> Vec<f32> {
    let (weights, statistics) = (Weights::default(), shelf.statistics());
    let mean = (statistics.terms as f32 / statistics.lessons.max(1) as f32).max(1.0);
    (0..=LONGEST_KEY).map(|terms| weights.saturated(1.0, weights.restraint(terms as f32 / mean))).collect()
}
