//! Ranking of tools for the user messages.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::pipeline::query_vectors::query_vectors;
use crate::pipeline::services::Pipeline;
use crate::pipeline::state::Turn;
use crate::pipeline::tools::{Offering, Pool, Side};
use callwright_search::embedding::Vector;
use callwright_search::retrieval::{RankedTool, ToolQuery};
use callwright_telemetry::labels::Stage;

/// Weight of each earlier message, relative to the next one.
const FADING: f32 = 0.5;

/// Maximum number of tools per text: more than are ever offered, but few compared with a large catalog.
const LOOKED_AT: usize = 512;

type FoundByText = HashMap<(Side, String), Rc<[RankedTool]>>;

/// Ranks tools for texts, by vectors where all tools of a pool have them.
#[derive(Debug, Default)]
pub(super) struct Ranker {
    /// Vectors by text.
    vectors: HashMap<String, Vector>,
    /// Whether the vectors are missing because of an error.
    pub(super) words_alone: bool,
    /// Search results by text: the steps of a conversation use each text several times.
    found: RefCell<FoundByText>,
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

impl Ranker {
    /// Creates a ranker for these texts, with their vectors if any tools are compared by vectors.
    pub(super) async fn new(pipeline: &Pipeline, turn: &Turn, offering: &Offering, texts: &[&String]) -> Self {
        let Some(embedder) = turn.tooling.toolset_index.embedder.as_ref() else { return Self::default() };
        let mut chosen_from = offering.pools.iter().filter(|pool| !pool.is_whole(&turn.policy.offer, offering.room));
        if !chosen_from.any(|pool| pool.candidates.has_vectors()) {
            return Self::default();
        }
        let mut texts: Vec<String> = texts.iter().map(|text| (*text).clone()).collect();
        texts.sort_unstable();
        texts.dedup();
        match query_vectors(pipeline, embedder, &texts, Stage::Offer).await {
            Some(made) => Self { vectors: texts.into_iter().zip(made).collect(), ..Self::default() },
            None => Self { words_alone: true, ..Self::default() },
        }
    }

    /// Returns the tools that match the texts, which are sorted newest first, best first. Tools that the user names come
    /// before all others.
    pub(super) fn rank(&self, pool: &Pool, texts: &[String]) -> Vec<Ranked> {
        let (mut sums, mut by_meaning) = (HashMap::new(), false);
        let mut weight = 1.0;
        for (age, text) in texts.iter().enumerate() {
            let found = self.search(pool, text);
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

    fn search(&self, pool: &Pool, text: &str) -> Rc<[RankedTool]> {
        let mut found = self.found.borrow_mut();
        let found = found.entry((pool.side, text.to_owned())).or_insert_with(|| {
            let query = ToolQuery { text, vector: self.vectors.get(text) };
            pool.candidates.search(&query, LOOKED_AT).into()
        });
        Rc::clone(found)
    }
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
