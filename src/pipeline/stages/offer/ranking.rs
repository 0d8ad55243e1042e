//! How well tools serve what was said.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use callwright_search::embedding::Vector;
use callwright_search::retrieval::{Found, ToolQuery};

use super::pool::{Pool, Side};

/// What each message before the last one counts, as a share of the one behind it.
const FADING: f32 = 0.5;

/// Tools that are looked at for one text: more than are ever offered, and few beside a large catalog.
const LOOKED_AT: usize = 512;

/// The vectors of texts.
pub(super) type Vectors = HashMap<String, Vector>;

/// What was said, to be ranked for.
#[derive(Debug, Clone)]
pub(super) struct Query<'a> {
    /// The newest first.
    texts: Vec<ToolQuery<'a>>,
}

impl<'a> Query<'a> {
    /// Texts, the newest first, with those vectors of them that there are.
    pub(super) fn of(texts: &'a [String], vectors: &'a Vectors) -> Self {
        Self { texts: texts.iter().map(|text| ToolQuery { text, vector: vectors.get(text) }).collect() }
    }
}

/// What texts found so far. The steps of a conversation look at each text several times: as the last one, and before others.
#[derive(Debug, Default)]
pub(super) struct Searches(RefCell<FoundByText>);

type FoundByText = HashMap<(Side, String), Rc<[Found]>>;

impl Searches {
    fn of(&self, pool: &Pool, query: &ToolQuery<'_>) -> Rc<[Found]> {
        let key = (pool.side, query.text.to_owned());
        let known = self.0.borrow().get(&key).map(Rc::clone);
        known.unwrap_or_else(|| {
            let found: Rc<[Found]> = pool.candidates.search(query, LOOKED_AT).into();
            self.0.borrow_mut().insert(key, Rc::clone(&found));
            found
        })
    }
}

/// A tool that was found.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ranked {
    pub(super) position: usize,
    /// How well it serves, as a share of the best one, 0 to 1.
    pub(super) share: f32,
    /// The learned pattern that is most like what was said last.
    pub(super) pattern: Option<String>,
}

/// A tool's scores over all texts.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    score: f32,
    named: bool,
    pattern: Option<usize>,
}

/// The candidates that serve what was said, best first. Those that the user names come first of all.
pub(super) fn rank(pool: &Pool, query: &Query<'_>, searches: &Searches) -> Vec<Ranked> {
    let (mut sums, mut by_meaning) = (HashMap::new(), false);
    let mut weight = 1.0;
    for (age, text) in query.texts.iter().enumerate() {
        let found = searches.of(pool, text);
        let meaning = found.iter().any(|found| found.why.meaning.is_some());
        add(&mut sums, &found, if meaning { lowest(&found) } else { 0.0 }, (weight, age == 0));
        by_meaning |= meaning;
        weight *= FADING;
    }
    let mut ranked: Vec<(usize, Sum)> = sums.into_iter().collect();
    ranked.sort_by(|(left_at, left), (right_at, right)| {
        right.named.cmp(&left.named).then(right.score.total_cmp(&left.score)).then(left_at.cmp(right_at))
    });
    let best = ranked.iter().map(|(_, sum)| sum.score).fold(f32::NEG_INFINITY, f32::max);
    let share = |sum: &Sum| match (sum.named, by_meaning) {
        (true, _) => 1.0,
        // Meaning is summed as a logarithm (`retrieval::soft_sum`): a difference of scores is a share.
        (false, true) => (sum.score - best).exp(),
        (false, false) => sum.score / best,
    };
    let found = |(position, sum): (usize, Sum)| Ranked {
        position,
        share: share(&sum),
        pattern: sum.pattern.and_then(|pattern| pool.candidates.pattern(position, pattern)),
    };
    ranked.into_iter().map(found).collect()
}

/// Adds what one text found, over the `lowest` of that: a tool that it did not find, or not among those looked at, has no more.
fn add(sums: &mut HashMap<usize, Sum>, found: &[Found], lowest: f32, (weight, is_last): (f32, bool)) {
    for found in found {
        let sum = sums.entry(found.position).or_default();
        sum.score += weight * (found.score - lowest);
        if is_last {
            sum.named = found.why.named;
            sum.pattern = found.why.closest.and_then(|closest| closest.pattern);
        }
    }
}

fn lowest(found: &[Found]) -> f32 {
    found.iter().map(|found| found.score).fold(f32::INFINITY, f32::min)
}
