//! Okapi BM25 over an inverted index in memory.

use std::ops::Range;

use super::formula::{Weights, rarity};
use super::postings::{Posting, Postings};
use super::term::{Term, distinct_terms};
use super::tokens::tokens;

/// Texts under their ids, ready to be ranked against queries.
#[derive(Debug, Clone)]
pub struct Bm25<Id> {
    ids: Vec<Id>,
    lengths: Vec<f32>,
    mean_length: f32,
    postings: Postings,
    weights: Weights,
}

/// One text that a search found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit<'a, Id> {
    /// The text's id.
    pub id: &'a Id,
    /// Position of the text in the order in which the index was built.
    pub position: usize,
    /// BM25 score; comparable only within one search.
    pub score: f32,
    /// What was recognised, in units of "a term that a single text of the index has": the sum of the matched terms' inverse document
    /// frequencies over the largest one. Unlike the score it can be held against a threshold.
    pub evidence: f32,
    /// Share of the query that was recognised, 0 to 1: the matched terms' inverse document frequencies over those of all its terms. Terms
    /// that no text has count as the rarest ones.
    pub coverage: f32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    score: f32,
    rarity: f32,
}

/// What a query gives to one text: see [`Hit`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// BM25 score.
    pub score: f32,
    /// What was recognised.
    pub evidence: f32,
    /// Share of the query that was recognised.
    pub coverage: f32,
}

/// What a query gives to texts of an index.
#[derive(Debug, Clone)]
pub struct Scores {
    first: usize,
    tallies: Vec<Tally>,
    rarest: f32,
    asked: f32,
}

impl Scores {
    /// What the text at a position was given; `None` where it has none of the query's terms.
    pub fn of(&self, position: usize) -> Option<Score> {
        let tally = self.tallies.get(position.checked_sub(self.first)?).filter(|tally| tally.score > 0.0)?;
        let (evidence, coverage) = (tally.rarity / self.rarest, tally.rarity / self.asked);
        Some(Score { score: tally.score, evidence, coverage })
    }

    /// The positions of the `k` best texts, best first; equal scores keep their order.
    pub fn best(&self, k: usize) -> Vec<usize> {
        let order = |left: &(usize, f32), right: &(usize, f32)| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0));
        let scored = self.tallies.iter().enumerate().filter(|(_, tally)| tally.score > 0.0);
        let mut found: Vec<(usize, f32)> = scored.map(|(at, tally)| (self.first + at, tally.score)).collect();
        if k < found.len() {
            // Only the best are put in order.
            found.select_nth_unstable_by(k, order);
            found.truncate(k);
        }
        found.sort_unstable_by(order);
        found.into_iter().map(|(position, _)| position).collect()
    }
}

impl<Id> Bm25<Id> {
    /// Indexes texts with the customary weights.
    pub fn build(texts: impl IntoIterator<Item = (Id, impl AsRef<str>)>) -> Self {
        Self::with_weights(texts, Weights::default())
    }

    /// Indexes texts.
    pub fn with_weights(texts: impl IntoIterator<Item = (Id, impl AsRef<str>)>, weights: Weights) -> Self {
        let mut index =
            Self { ids: Vec::new(), lengths: Vec::new(), mean_length: 0.0, postings: Postings::default(), weights };
        let mut found = Vec::new();
        for (id, text) in texts {
            index.add(id, text.as_ref(), &mut found);
        }
        index.postings = Postings::of(found);
        index.mean_length = index.lengths.iter().sum::<f32>() / (index.lengths.len().max(1) as f32);
        index
    }

    /// How many texts the index holds.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Does it hold none?
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The `k` best texts for a query, best first; equal scores keep the order of building. Texts without any of its terms are left out.
    pub fn search(&self, query: &str, k: usize) -> Vec<Hit<'_, Id>> {
        self.search_within(query, 0..self.len(), k)
    }

    /// As [`Bm25::search`], among the texts at some positions only. How rare a term is still depends on the whole index.
    pub fn search_within(&self, query: &str, positions: Range<usize>, k: usize) -> Vec<Hit<'_, Id>> {
        let scores = self.scores(query, positions);
        let best = scores.best(k);
        best.into_iter()
            .filter_map(|position| {
                let Score { score, evidence, coverage } = scores.of(position)?;
                self.ids.get(position).map(|id| Hit { id, position, score, evidence, coverage })
            })
            .collect()
    }

    /// What a query gives each of the texts at some positions. It costs memory in proportion to those, and time in proportion to how often
    /// the query's terms stand in them.
    pub fn scores(&self, query: &str, positions: Range<usize>) -> Scores {
        let end = positions.end.min(self.len());
        let positions = positions.start.min(end)..end;
        let mut tallies = vec![Tally::default(); positions.len()];
        let mut asked = 0.0;
        for term in distinct_terms(query) {
            asked += self.add_term(term, &positions, &mut tallies);
        }
        Scores { first: positions.start, tallies, rarest: self.rarity(1), asked }
    }

    fn add(&mut self, id: Id, text: &str, found: &mut Vec<(Term, Posting)>) {
        let Ok(position) = u32::try_from(self.ids.len()) else { return };
        let terms = tokens(text);
        self.ids.push(id);
        self.lengths.push(terms.len() as f32);
        found.extend(terms.iter().map(|term| (Term::of(term), Posting { position, count: 1.0 })));
    }

    /// Adds what one term gives to the texts that have it; returns how rare the term is.
    fn add_term(&self, term: Term, positions: &Range<usize>, tallies: &mut [Tally]) -> f32 {
        let postings = self.postings.of_term(term);
        let rarity = self.rarity(postings.len().max(1));
        let first = postings.partition_point(|posting| (posting.position as usize) < positions.start);
        for posting in postings.iter().skip(first) {
            let Some(tally) = tallies.get_mut(posting.position as usize - positions.start) else { break };
            tally.score += rarity * self.saturation(posting);
            tally.rarity += rarity;
        }
        rarity
    }

    fn rarity(&self, texts_with_term: usize) -> f32 {
        rarity(self.ids.len(), texts_with_term)
    }

    fn saturation(&self, posting: &Posting) -> f32 {
        let length = self.lengths.get(posting.position as usize).copied().unwrap_or_default();
        self.weights.saturated(posting.count, self.weights.restraint(length / self.mean_length.max(1.0)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ids<'a>(hits: &[Hit<'a, &'static str>]) -> Vec<&'a str> {
        hits.iter().map(|hit| *hit.id).collect()
    }

    #[test]
    fn scores_follow_the_published_formula() {
        let index = Bm25::build([("a", "red apple"), ("b", "green apple apple tree")]);
        let hits = index.search("red", 5);
        // N = 2, n = 1, tf = 1, dl = 2, avgdl = 3.
        let idf = (1.0_f32 + 1.5 / 1.5).ln();
        let expected = idf * 2.2 / (1.0 + 1.2 * (0.25 + 0.75 * 2.0 / 3.0));
        assert_eq!(ids(&hits), ["a"]);
        assert!((hits[0].score - expected).abs() < 1e-6, "{} is not {expected}", hits[0].score);
        assert!((hits[0].evidence - 1.0).abs() < 1e-6 && (hits[0].coverage - 1.0).abs() < 1e-6);
        let half = index.search("red unheard", 5);
        assert!((half[0].coverage - 0.5).abs() < 1e-6, "one of two equally rare terms");
    }

    #[test]
    fn a_rare_term_outweighs_a_common_one() {
        let index = Bm25::build([("a", "invalid key"), ("b", "invalid parameter 20000"), ("c", "invalid user")]);
        assert_eq!(ids(&index.search("invalid 20000", 2)), ["b", "a"]);
    }

    #[test]
    fn equal_scores_keep_the_order_of_building() {
        let index = Bm25::build([("z", "same text"), ("y", "same text"), ("x", "same text")]);
        assert_eq!(ids(&index.search("text", 2)), ["z", "y"]);
    }

    #[test]
    fn a_search_within_positions_sees_only_those() {
        let index = Bm25::build([("a", "one"), ("b", "one"), ("c", "one two"), ("d", "one")]);
        assert_eq!(ids(&index.search_within("one", 1..3, 9)), ["b", "c"]);
        assert!(index.search_within("two", 0..2, 9).is_empty());
    }

    #[test]
    fn an_empty_index_and_an_empty_query_find_nothing() {
        assert!(Bm25::<u8>::build(Vec::<(u8, &str)>::new()).search("x", 3).is_empty());
        assert!(Bm25::build([(1, "x")]).search("", 3).is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_search_is_sorted_bounded_and_repeatable(
            texts in proptest::collection::vec("[a-d ]{0,20}", 0..12), query in "[a-e ]{0,12}", k in 0_usize..6,
        ) {
            let index = Bm25::build(texts.iter().enumerate());
            let hits = index.search(&query, k);
            prop_assert!(hits.len() <= k);
            prop_assert!(hits.windows(2).all(|pair| (pair[0].score, pair[1].position) >= (pair[1].score, pair[0].position)));
            prop_assert!(hits.iter().all(|hit| hit.score.is_finite() && hit.score > 0.0));
            let again = Bm25::build(texts.iter().enumerate());
            prop_assert_eq!(&hits, &again.search(&query, k));
        }
    }
}
