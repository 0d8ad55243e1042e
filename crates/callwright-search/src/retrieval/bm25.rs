//! Okapi BM25 over an in-memory inverted index.

use std::cmp::Ordering;

use super::formula::{Weights, rarity};
use super::postings::{Posting, Postings, postings};
use super::tokens::{Term, distinct_terms, tokens};

/// An index of texts by id, for ranking against queries.
#[derive(Debug, Clone)]
pub struct Bm25<Id> {
    ids: Vec<Id>,
    lengths: Vec<f32>,
    mean_length: f32,
    postings: Postings,
}

/// A text found by a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit<'a, Id> {
    /// Id of the text.
    pub id: &'a Id,
    /// Index of the text in the order of building.
    pub position: usize,
    /// BM25 score; comparable only within one search.
    pub score: f32,
    /// Matched evidence: the sum of the matched terms' inverse document frequencies, divided by the largest possible
    /// one, which is that of a term in a single text. Unlike the score, it can be compared with a threshold.
    pub evidence: f32,
    /// Share of the query that matched, 0 to 1: the matched terms' inverse document frequencies over those of all query
    /// terms. Terms that no text contains count as the rarest ones.
    pub coverage: f32,
}

#[derive(Debug, Clone, Copy, Default)]
struct TermSums {
    score: f32,
    rarity: f32,
}

/// Score of one text for a query; see [`Hit`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// BM25 score.
    pub score: f32,
    /// Matched evidence.
    pub evidence: f32,
    /// Share of the query that matched.
    pub coverage: f32,
}

/// Scores of an index's texts for a query.
#[derive(Debug, Clone)]
pub struct Scores {
    sums: Vec<TermSums>,
    rarest: f32,
    query_rarity: f32,
}

impl Scores {
    /// Returns the score of the text at a position; `None` if it has none of the query's terms.
    pub fn of(&self, position: usize) -> Option<Score> {
        let sum = self.sums.get(position).filter(|sum| sum.score > 0.0)?;
        let (evidence, coverage) = (sum.rarity / self.rarest, sum.rarity / self.query_rarity);
        Some(Score { score: sum.score, evidence, coverage })
    }

    /// Returns the positions of the `k` best texts, best first; ties keep their order.
    pub fn best(&self, k: usize) -> Vec<usize> {
        let scored = self.sums.iter().enumerate().filter(|(_, sum)| sum.score > 0.0);
        let mut found: Vec<(usize, f32)> = scored.map(|(at, sum)| (at, sum.score)).collect();
        if k < found.len() {
            // Sorts only the best ones.
            found.select_nth_unstable_by(k, best_first);
            found.truncate(k);
        }
        found.sort_unstable_by(best_first);
        found.into_iter().map(|(position, _)| position).collect()
    }
}

/// Compares positions with scores: higher scores first, ties by position.
fn best_first(left: &(usize, f32), right: &(usize, f32)) -> Ordering {
    right.1.total_cmp(&left.1).then(left.0.cmp(&right.0))
}

impl<Id> Bm25<Id> {
    /// Indexes texts.
    pub fn build(texts: impl IntoIterator<Item = (Id, impl AsRef<str>)>) -> Self {
        let (mut ids, mut lengths, mut found) = (Vec::new(), Vec::new(), Vec::new());
        for (position, (id, text)) in (0_u32..).zip(texts) {
            let terms = tokens(text.as_ref());
            ids.push(id);
            lengths.push(terms.len() as f32);
            found.extend(terms.iter().map(|term| (Term::of(term), Posting { position, count: 1.0 })));
        }
        let mean_length = lengths.iter().sum::<f32>() / (lengths.len().max(1) as f32);
        Self { ids, lengths, mean_length, postings: postings(found) }
    }

    /// Returns the number of texts.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are no texts.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Returns the `k` best texts for a query, best first; ties keep the order of building. Texts without any of its
    /// terms are omitted.
    pub fn search(&self, query: &str, k: usize) -> Vec<Hit<'_, Id>> {
        let scores = self.scores(query);
        let mut hits = Vec::new();
        for position in scores.best(k) {
            if let (Some(id), Some(score)) = (self.ids.get(position), scores.of(position)) {
                let Score { score, evidence, coverage } = score;
                hits.push(Hit { id, position, score, evidence, coverage });
            }
        }
        hits
    }

    /// Returns the scores of all texts. Memory is proportional to their number, and time to the number of occurrences of
    /// the query's terms in them.
    pub fn scores(&self, query: &str) -> Scores {
        let mut sums = vec![TermSums::default(); self.len()];
        let mut query_rarity = 0.0;
        for term in distinct_terms(query) {
            let postings = self.postings.of_term(term);
            let rarity = rarity(self.len(), postings.len().max(1));
            query_rarity += rarity;
            for Posting { position, count } in postings {
                let at = *position as usize;
                let (Some(sum), Some(length)) = (sums.get_mut(at), self.lengths.get(at)) else { break };
                let length_norm = Weights::USUAL.length_norm(length / self.mean_length.max(1.0));
                sum.score += rarity * Weights::USUAL.saturated(*count, length_norm);
                sum.rarity += rarity;
            }
        }
        Scores { sums, rarest: rarity(self.len(), 1), query_rarity }
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
