//! Search for lessons by the words of their keys (BM25) and by meaning.
//!
//! The cost is bounded by the number of looked-up words and the number of lessons in the scope.

use std::sync::Arc;

use super::index::{LessonIndex, purpose_term};
use super::query::{AvailableTool, RecallQuery};
use crate::experience::Settings;
use crate::experience::merge::{is_conflict, latest};
use callwright_common::text::beginning;
use callwright_search::retrieval::{Term, Weights, content_terms, rarity};
use callwright_types::Lesson;
use callwright_types::memory::ClientFacts;

/// Maximum number of request words that are looked up, rarest first.
const MAX_TERMS: usize = 64;

/// Returns the best lessons of a scope for a request.
pub(super) fn search(index: &LessonIndex, query: &RecallQuery<'_>, settings: &Settings) -> Vec<Arc<Lesson>> {
    let available = index.available(query.tools);
    let mut matches = vec![(0.0_f32, 0_usize); index.entries.len()];
    for term in rarest_terms(index, query, settings) {
        let with_term = index.with_term(term);
        let rarity = rarity(index.searchable, with_term.len());
        for position in with_term {
            if let Some((sum, count)) = matches.get_mut(*position as usize) {
                *sum += rarity;
                *count += 1;
            }
        }
    }
    let vector = query.vector.filter(|vector| index.dimensions == Some(vector.components().len()));
    let (weights, rarest) = (Weights::USUAL, rarity(index.searchable, 1));
    let mut scored: Vec<(f32, &Arc<Lesson>)> = Vec::new();
    for ((entry, (sum, count)), is_available) in index.entries.iter().zip(matches).zip(available) {
        let length = entry.terms.len() as f32;
        if count == 0 || !is_available || count as f32 / length < settings.least_match {
            continue;
        }
        let mut needed = entry.lesson.client.iter().flat_map(ClientFacts::tools);
        if !needed.all(|needed| query.tools.iter().any(|tool| tool.is_client(needed))) {
            continue;
        }
        let words = sum * weights.saturated(1.0, weights.length_norm(length / index.mean_terms)) / rarest;
        let meaning = vector.zip(entry.vector.as_ref()).map_or(0.0, |(query, own)| query.cosine(own));
        scored.push((words + meaning.max(0.0), &entry.lesson));
    }
    scored.sort_by(|(score, lesson), (other_score, other)| {
        other_score.total_cmp(score).then_with(|| latest(other).cmp(&latest(lesson)))
    });
    let mut found: Vec<Arc<Lesson>> =
        scored.into_iter().take(query.limit).map(|(_, lesson)| Arc::clone(lesson)).collect();
    newest_first(&mut found, settings);
    found
}

/// Orders contradicting lessons by their latest confirmation, the newest first.
fn newest_first(lessons: &mut [Arc<Lesson>], settings: &Settings) {
    for first in 0..lessons.len() {
        for second in first + 1..lessons.len() {
            let (Some(one), Some(other)) = (lessons.get(first), lessons.get(second)) else { continue };
            if latest(one) < latest(other) && is_conflict(one, other, settings) {
                lessons.swap(first, second);
            }
        }
    }
}

/// Returns the words of the request that occur in keys, the rarest first.
fn rarest_terms(index: &LessonIndex, query: &RecallQuery<'_>, settings: &Settings) -> Vec<Term> {
    let mut terms = content_terms(beginning(query.text, settings.query_chars));
    let purposes: Vec<Term> = query.tools.iter().filter_map(|tool| purpose_match(tool, &terms)).collect();
    terms.extend(purposes);
    terms.retain(|term| !index.with_term(*term).is_empty());
    terms.sort_by_key(|term| (index.with_term(*term).len(), *term));
    terms.truncate(MAX_TERMS);
    terms
}

/// Returns the purpose term of a client's own tool if the request shares a word with the purpose.
fn purpose_match(tool: &AvailableTool<'_>, request: &[Term]) -> Option<Term> {
    let fingerprint = tool.fingerprint?;
    let purpose = content_terms(tool.purpose);
    purpose.iter().any(|term| request.contains(term)).then(|| purpose_term(fingerprint))
}
