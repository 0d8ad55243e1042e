//! How well tools serve what was said.

use std::collections::HashMap;

use super::candidates::Candidates;

/// What each message before the last one counts, as a share of the one behind it.
const FADING: f32 = 0.5;

/// What was said, to be ranked for.
#[derive(Debug, Clone)]
pub(super) struct Query<'a> {
    /// The newest first.
    texts: Vec<&'a str>,
}

impl<'a> Query<'a> {
    /// Texts, the newest first.
    pub(super) fn of(texts: &'a [String]) -> Self {
        Self { texts: texts.iter().map(String::as_str).collect() }
    }
}

/// A tool that was found.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ranked {
    pub(super) position: usize,
    /// Its score as a share of the best one's, 0 to 1.
    pub(super) share: f32,
    /// The learned pattern that is most like what was said.
    pub(super) pattern: Option<String>,
}

/// The candidates that serve what was said, best first.
pub(super) fn rank(candidates: &Candidates, query: &Query<'_>) -> Vec<Ranked> {
    let mut scores: HashMap<usize, f32> = HashMap::new();
    let mut weight = 1.0;
    for text in &query.texts {
        for (position, score) in candidates.search(text) {
            *scores.entry(position).or_default() += weight * score;
        }
        weight *= FADING;
    }
    let mut ranked: Vec<(usize, f32)> = scores.into_iter().collect();
    ranked.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
    let best = ranked.first().map_or(1.0, |(_, score)| *score);
    ranked.into_iter().map(|(position, score)| Ranked { position, share: score / best, pattern: None }).collect()
}
