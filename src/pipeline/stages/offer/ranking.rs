//! Ranking of tools for the user messages.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::pipeline::query_vectors::query_vectors;
use crate::pipeline::services::Pipeline;
use crate::pipeline::state::Turn;
use crate::pipeline::tools::{Pool, Side};
use callwright_search::embedding::Vector;
use callwright_search::retrieval::{RankedTool, ToolQuery};
use callwright_telemetry::labels::Stage;

/// Weight of each earlier message, relative to the next one.
const FADING: f32 = 0.5;

/// Maximum number of tools per text: more than are ever offered, but few compared with a large catalog.
const LOOKED_AT: usize = 512;

/// Vectors by text.
pub(super) type Vectors = HashMap<String, Vector>;

/// Returns the vectors of the user messages if any tools are compared by vectors, and whether they are missing because
/// of an error.
pub(super) async fn vectors(
    pipeline: &Pipeline,
    turn: &Turn,
    pools: &[Pool],
    room: usize,
    texts: &[&String],
) -> (Vectors, bool) {
    let Some(embedder) = turn.tooling.toolset_index.embedder.as_ref() else { return (Vectors::default(), false) };
    let mut chosen_from = pools.iter().filter(|pool| !pool.is_whole(&turn.policy.offer, room));
    if !chosen_from.any(|pool| pool.candidates.has_vectors()) {
        return (Vectors::default(), false);
    }
    let mut texts: Vec<String> = texts.iter().map(|text| (*text).clone()).collect();
    texts.sort_unstable();
    texts.dedup();
    match query_vectors(pipeline, embedder, &texts, Stage::Offer).await {
        Some(made) => (texts.into_iter().zip(made).collect(), false),
        None => (Vectors::default(), true),
    }
}

/// Texts for ranking.
#[derive(Debug, Clone)]
pub(super) struct RankingQuery<'a> {
    /// Newest first.
    texts: Vec<ToolQuery<'a>>,
}

impl<'a> RankingQuery<'a> {
    /// Creates a query from texts, newest first, with the available vectors.
    pub(super) fn of(texts: &'a [String], vectors: &'a Vectors) -> Self {
        Self { texts: texts.iter().map(|text| ToolQuery { text, vector: vectors.get(text) }).collect() }
    }
}

/// Cache of search results by text. The steps of a conversation use each text several times.
#[derive(Debug, Default)]
pub(super) struct Searches(RefCell<FoundByText>);

type FoundByText = HashMap<(Side, String), Rc<[RankedTool]>>;

impl Searches {
    fn of(&self, pool: &Pool, query: &ToolQuery<'_>) -> Rc<[RankedTool]> {
        let key = (pool.side, query.text.to_owned());
        let known = self.0.borrow().get(&key).map(Rc::clone);
        known.unwrap_or_else(|| {
            let found: Rc<[RankedTool]> = pool.candidates.search(query, LOOKED_AT).into();
            self.0.borrow_mut().insert(key, Rc::clone(&found));
            found
        })
    }
}

/// A ranked tool.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ranked {
    pub(super) position: usize,
    /// Score relative to the best one, from 0 to 1.
    pub(super) share: f32,
    /// The learned pattern that is closest to the last message.
    pub(super) pattern: Option<String>,
}

/// Scores of a tool over all texts.
#[derive(Debug, Clone, Copy, Default)]
struct ScoreSum {
    score: f32,
    named: bool,
    pattern: Option<usize>,
}

/// Returns the matching candidates, best first. Tools that the user names come before all others.
pub(super) fn rank(pool: &Pool, query: &RankingQuery<'_>, searches: &Searches) -> Vec<Ranked> {
    let (mut sums, mut by_meaning) = (HashMap::new(), false);
    let mut weight = 1.0;
    for (age, text) in query.texts.iter().enumerate() {
        let found = searches.of(pool, text);
        let meaning = found.iter().any(|found| found.why.meaning.is_some());
        add(&mut sums, &found, if meaning { lowest(&found) } else { 0.0 }, weight, age == 0);
        by_meaning |= meaning;
        weight *= FADING;
    }
    let mut ranked: Vec<(usize, ScoreSum)> = sums.into_iter().collect();
    ranked.sort_by(|(left_at, left), (right_at, right)| {
        right.named.cmp(&left.named).then(right.score.total_cmp(&left.score)).then(left_at.cmp(right_at))
    });
    let best = ranked.iter().map(|(_, sum)| sum.score).fold(f32::NEG_INFINITY, f32::max);
    let ranked = ranked.into_iter().map(|(position, sum)| Ranked {
        position,
        share: match (sum.named, by_meaning) {
            (true, _) => 1.0,
            // Semantic scores are logarithms (`retrieval::soft_sum`), so a difference of scores is a ratio.
            (false, true) => (sum.score - best).exp(),
            (false, false) => sum.score / best,
        },
        pattern: sum.pattern.and_then(|pattern| pool.candidates.pattern(position, pattern)),
    });
    ranked.collect()
}

/// Adds the results of one text, relative to the `lowest` score. Tools that are not in the results get nothing.
fn add(sums: &mut HashMap<usize, ScoreSum>, found: &[RankedTool], lowest: f32, weight: f32, is_last: bool) {
    for found in found {
        let sum = sums.entry(found.position).or_default();
        sum.score += weight * (found.score - lowest);
        if is_last {
            sum.named = found.why.named;
            sum.pattern = found.why.closest.and_then(|closest| closest.pattern);
        }
    }
}

fn lowest(found: &[RankedTool]) -> f32 {
    found.iter().map(|found| found.score).fold(f32::INFINITY, f32::min)
}
