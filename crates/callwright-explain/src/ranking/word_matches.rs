//! Weight of the words that a passage shares with a message.

use crate::index::Index;
use crate::index::passage_vectors::MessageSimilarity;
use callwright_search::retrieval::{Score, Scores};

/// Weight of shared words.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WordMatch {
    /// Evidence: the negative logarithm of the share of such matches that are accidental.
    pub(crate) evidence: f32,
    /// Contribution to the sort key.
    pub(crate) order: f32,
}

/// Number of passages that are considered for their words alone.
const BEST_BY_WORDS: usize = 32;

/// Maximum number of passages in the crowd; beyond it shared words are no evidence.
const MAX_CROWD: usize = 6;

/// Weight of the passage with the best word score, and of the one with the best word score of its beginning; others get
/// a proportional share.
const BEST_WORDS: f32 = 1.2;

/// Weight of the passage with the most similar meaning; others get a proportional share.
const CLOSEST: f32 = 2.4;

/// Logistic model of the probability that the best passage explains a message without a code.
///
/// Fitted on documented failures in other words and on failures that no documentation explains, with one catalogue left
/// out at a time; the constant is set so that one in a hundred of the latter reaches the default
/// `explain.min_confidence`. The benchmark page has the curve.
struct ClaimModel {
    coverage: f32,
    rarity: f32,
    prominence: f32,
    constant: f32,
}

impl ClaimModel {
    fn logit(&self, coverage: f32, rarity: f32, prominence: f32) -> f32 {
        self.coverage * coverage + self.rarity * rarity + self.prominence * prominence + self.constant
    }
}

/// Model without vectors.
const BY_WORDS: ClaimModel = ClaimModel { coverage: 9.56, rarity: 1.43, prominence: 0.0, constant: -3.79 };

/// Model with vectors.
const WITH_MEANING: ClaimModel = ClaimModel { coverage: 9.0, rarity: 2.55, prominence: 0.684, constant: -3.69 };

/// Word scores of all passages for a message.
pub(crate) struct PassageWordScores<'a> {
    texts: Field,
    leads: Field,
    meaning: &'a MessageSimilarity,
    /// Number of passages that have nearly as many of the message's words as the one with the most.
    crowd: usize,
}

impl<'a> PassageWordScores<'a> {
    pub(crate) fn new(index: &Index, words: &str, meaning: &'a MessageSimilarity) -> Self {
        let texts = Field::new(index.words.scores(words));
        Self { meaning, crowd: texts.crowd(), texts, leads: Field::new(index.leads.scores(words)) }
    }

    /// Returns the passages with the best scores by words or meaning.
    pub(crate) fn best(&self) -> Vec<usize> {
        let mut best: Vec<usize> = self.texts.best.iter().chain(&self.leads.best).copied().collect();
        best.extend(self.meaning.best(BEST_BY_WORDS));
        best.sort_unstable();
        best.dedup();
        best
    }

    /// Returns the share of the message's words that a passage has, weighted by their rarity.
    pub(crate) fn coverage(&self, passage: usize) -> f32 {
        self.texts.scores.of(passage).map_or(0.0, |text| text.coverage)
    }

    /// Returns the weight of the words that a passage shares with the message, and of their meaning.
    pub(crate) fn word_match(&self, passage: usize) -> WordMatch {
        let (text, lead) = (self.texts.scores.of(passage), self.leads.scores.of(passage));
        let order = BEST_WORDS * self.texts.relative(text)
            + BEST_WORDS * self.leads.relative(lead)
            + CLOSEST * self.meaning.relative(passage);
        let coverage = self.coverage(passage);
        let rarity = text.map_or(0.0, |text| text.evidence).ln_1p();
        let logit = if self.meaning.is_available() {
            WITH_MEANING.logit(coverage, rarity, self.meaning.prominence(passage))
        } else {
            BY_WORDS.logit(coverage, rarity, 0.0)
        };
        // Words that many passages share as fully single out none of them.
        let sure = if self.crowd > MAX_CROWD { 0.0 } else { 1.0 / (1.0 + (-logit).exp()) };
        WordMatch { evidence: -(1.0 - sure).ln(), order }
    }
}

/// Scores in one field of the passages.
struct Field {
    scores: Scores,
    best: Vec<usize>,
    best_score: f32,
}

impl Field {
    fn new(scores: Scores) -> Self {
        let best = scores.best(BEST_BY_WORDS);
        let best_score = best.first().and_then(|best| scores.of(*best)).map_or(1.0, |best| best.score);
        Self { scores, best, best_score }
    }

    /// Returns the number of passages whose coverage is close to the highest one.
    fn crowd(&self) -> usize {
        let most = self.best.iter().map(|passage| self.coverage(*passage)).fold(0.0, f32::max);
        self.best.iter().filter(|passage| self.coverage(**passage) >= most).count()
    }

    fn coverage(&self, passage: usize) -> f32 {
        self.scores.of(passage).map_or(0.0, |score| score.coverage)
    }

    /// Returns the score relative to the best one.
    fn relative(&self, score: Option<Score>) -> f32 {
        score.map_or(0.0, |score| score.score / self.best_score)
    }
}
