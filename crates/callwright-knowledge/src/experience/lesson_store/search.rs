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
use super::index::LessonIndex;
use super::query::{AvailableTool, RecallQuery, RecalledLesson};
use super::segment::{LessonSegment, ShardPostings};
use crate::experience::Settings;
use crate::experience::merge::{is_conflict, latest};
use callwright_common::text::beginning;
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
pub(super) fn search(index: &LessonIndex, query: &RecallQuery<'_>, settings: &Settings) -> Vec<RecalledLesson> {
    let search = LessonSearch::new(index, query, settings);
    let mut scored: Vec<RecalledLesson> = Vec::new();
    for ScoredLesson { part, position, .. } in search.candidates(query) {
        scored.extend(search.score_exactly(part, position as usize, query.tools));
    }
    scored.sort_by(order);
    scored.truncate(query.limit);
    newest_first(&mut scored, settings);
    scored
}

/// Orders contradicting lessons by their latest confirmation, the newest first.
fn newest_first(lessons: &mut [RecalledLesson], settings: &Settings) {
    for first in 0..lessons.len() {
        for second in first + 1..lessons.len() {
            let (Some(one), Some(other)) = (lessons.get(first), lessons.get(second)) else { continue };
            let is_older = latest(&one.lesson) < latest(&other.lesson);
            if is_older && is_conflict(&one.lesson, &other.lesson, settings) {
                lessons.swap(first, second);
            }
        }
    }
}

/// Orders by score, best first, then by the latest confirmation.
fn order(one: &RecalledLesson, other: &RecalledLesson) -> Ordering {
    let by_score = other.score.total_cmp(&one.score);
    by_score
        .then_with(|| latest(&other.lesson).cmp(&latest(&one.lesson)))
        .then_with(|| one.lesson.id.cmp(&other.lesson.id))
}

/// Whether every lesson has a vector with the same dimensions as this one.
fn is_comparable(index: &LessonIndex, vector: &Vector) -> bool {
    let dimensions = Some(vector.components().len());
    index.parts().iter().all(|(segment, _)| segment.entries().is_empty() || segment.dimensions() == dimensions)
}

/// State of one search in the lessons of a scope.
struct LessonSearch<'a> {
    index: &'a LessonIndex,
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
    fn new(index: &'a LessonIndex, query: &RecallQuery<'_>, settings: &'a Settings) -> Self {
        let lessons = index.statistics().lessons;
        let text = beginning(query.text, settings.query_chars);
        let mut request_terms = content_terms(text);
        let purposes: Vec<Term> = query.tools.iter().filter_map(|tool| purpose_match(tool, &request_terms)).collect();
        request_terms.extend(purposes);
        let counts = request_terms.into_iter().map(|term| (term, index.lessons_with(term)));
        let mut counts: Vec<(Term, usize)> = counts.filter(|(_, with)| *with > 0).collect();
        counts.sort_by_key(|(term, with)| (*with, *term));
        counts.truncate(MAX_TERMS);
        let terms: Vec<(Term, f32)> = counts.into_iter().map(|(term, with)| (term, rarity(lessons, with))).collect();
        let mut sorted = terms.clone();
        sorted.sort_unstable_by_key(|(term, _)| *term);
        let vector = query.vector.filter(|vector| is_comparable(index, vector)).map(QuantisedQuery::new);
        let saturation = saturation(index);
        Self { index, settings, terms, sorted, rarest: rarity(lessons, 1), saturation, vector }
    }

    /// Returns the lessons with the highest scores for the rare words of the request.
    fn candidates(&self, query: &RecallQuery<'_>) -> Vec<ScoredLesson> {
        let parts = self.index.parts();
        let mut scorers = parts.map(|(segment, deleted)| LessonScorer::new(segment, deleted, query.tools));
        let mut steps = MAX_STEPS;
        for (term, rarity) in &self.terms {
            for scorer in &mut scorers {
                scorer.add(*term, *rarity, &self.saturation, &mut steps);
            }
            if steps == 0 {
                break;
            }
        }
        let mut candidates = Vec::new();
        for (part, scorer) in scorers.iter().enumerate() {
            for position in &scorer.candidates {
                let score = scorer.scores.get(*position as usize).copied().unwrap_or_default();
                candidates.push(ScoredLesson { score, part, position: *position });
            }
        }
        let finalists = FINALISTS.max(query.limit);
        if finalists < candidates.len() {
            candidates.select_nth_unstable_by(finalists, |one, other| {
                other.score.total_cmp(&one.score).then((one.part, one.position).cmp(&(other.part, other.position)))
            });
            candidates.truncate(finalists);
        }
        candidates
    }

    /// Returns a candidate with its complete score. Returns `None` if the request contains too little of its key, or if
    /// the lesson concerns a client's own tool that is not available.
    fn score_exactly(&self, part: usize, position: usize, tools: &[AvailableTool<'_>]) -> Option<RecalledLesson> {
        let (segment, _) = self.index.parts().into_iter().nth(part)?;
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
        let words = words * saturated(&self.saturation, entry.terms.len()) / self.rarest;
        let meaning = self.vector.as_ref().and_then(|vector| segment.cosine(vector, position)).unwrap_or_default();
        let score = words + meaning.max(0.0);
        Some(RecalledLesson { lesson: Arc::clone(&entry.lesson), score, matched })
    }
}

/// Returns the purpose term of a client's own tool if the request shares a word with the purpose.
fn purpose_match(tool: &AvailableTool<'_>, request: &[Term]) -> Option<Term> {
    let fingerprint = tool.fingerprint?;
    let purpose = content_terms(tool.purpose);
    purpose.iter().any(|term| request.contains(term)).then(|| purpose_term(fingerprint))
}

/// Returns the BM25 weight of a single occurrence in keys of 0, 1, 2 ... words.
fn saturation(index: &LessonIndex) -> Vec<f32> {
    let (weights, statistics) = (Weights::USUAL, index.statistics());
    let mean = (statistics.terms as f32 / statistics.lessons.max(1) as f32).max(1.0);
    (0..=LONGEST_KEY).map(|terms| weights.saturated(1.0, weights.length_norm(terms as f32 / mean))).collect()
}

/// Score accumulator over the lessons of one segment that are about available tools.
struct LessonScorer<'a> {
    segment: &'a LessonSegment,
    /// Whether each lesson was deleted.
    deleted: &'a [bool],
    /// Shards about available tools, sorted.
    shards: Vec<u32>,
    /// Current score of each lesson.
    scores: Vec<f32>,
    /// Lessons that have a score, in the order in which they were found.
    candidates: Vec<u32>,
}

/// Returns the BM25 weight of a single occurrence in a key with this number of terms.
fn saturated(saturation: &[f32], terms: usize) -> f32 {
    saturation.get(terms).or(saturation.last()).copied().unwrap_or_default()
}

impl<'a> LessonScorer<'a> {
    fn new(segment: &'a LessonSegment, deleted: &'a [bool], tools: &[AvailableTool<'_>]) -> Self {
        let (shards, scores) = (segment.shards_for(tools), vec![0.0; segment.entries().len()]);
        Self { segment, deleted, shards, scores, candidates: Vec::new() }
    }

    /// Adds a term's weight to the scores of the lessons that contain it, until the steps are used up.
    fn add(&mut self, term: Term, rarity: f32, saturation: &[f32], steps: &mut usize) {
        let groups = self.segment.groups(term);
        // Both lists are sorted by shard; look up the entries of the shorter list in the longer one.
        let scans_shards = self.shards.len() < groups.len();
        for at in 0..self.shards.len().min(groups.len()) {
            if *steps == 0 {
                return;
            }
            *steps -= 1;
            let group = if scans_shards { self.group_of_shard(at, groups) } else { self.active(groups.get(at)) };
            if let Some(group) = group {
                self.add_group(group, rarity, saturation, steps);
            }
        }
    }

    fn group_of_shard(&self, at: usize, groups: &[ShardPostings]) -> Option<ShardPostings> {
        let shard = self.shards.get(at)?;
        let at = groups.binary_search_by_key(shard, |group| group.shard).ok()?;
        groups.get(at).copied()
    }

    fn active(&self, group: Option<&ShardPostings>) -> Option<ShardPostings> {
        group.filter(|group| self.shards.binary_search(&group.shard).is_ok()).copied()
    }

    fn add_group(&mut self, group: ShardPostings, rarity: f32, saturation: &[f32], steps: &mut usize) {
        for position in self.segment.positions(group) {
            if *steps == 0 {
                return;
            }
            *steps -= 1;
            let at = *position as usize;
            if self.deleted.get(at).copied().unwrap_or_default() {
                continue;
            }
            let (Some(score), Some(terms)) = (self.scores.get_mut(at), self.segment.terms_of(at)) else { continue };
            if *score == 0.0 {
                self.candidates.push(*position);
            }
            *score += rarity * saturated(saturation, terms);
        }
    }
}
