//! Weight of the words that a passage shares with a message.

use super::index::{Index, LEAD_CHARS};
use super::meanings::MessageSimilarity;
use callwright_search::retrieval::{Score, Scores};

/// Weight of shared words.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WordTie {
    /// Evidence: the negative logarithm of the share of such ties that are accidental.
    pub(super) evidence: f32,
    /// Contribution to the sort key.
    pub(super) order: f32,
}

/// Number of passages that are considered for their words alone.
const BEST_BY_WORDS: usize = 32;

/// Weight of the passage with the best word score; others get a proportional share.
const BEST_WORDS: f32 = 1.2;

/// Weight of the passage with the best word score of its beginning; others get a proportional share.
const BEST_LEAD: f32 = 1.2;

/// Exponent of the coverage of catalogue entries. It is high, because entries that share all words but one describe
/// other failures.
const ENTRY_STRICTNESS: f32 = 4.0;

/// Exponent of the coverage of prose.
const PROSE_STRICTNESS: f32 = 1.5;

/// Evidence at which shared words have half of their maximum weight.
const HALF_EVIDENCE: f32 = 0.5;

/// Maximum confidence from words alone.
const MOST_BY_WORDS: f32 = 0.95;

/// Weight of the passage with the most similar meaning; others get a proportional share.
const CLOSEST: f32 = 2.4;

/// Cosine similarity of texts that share only the subject area.
const UNRELATED: f32 = 0.45;

/// Cosine similarity of texts with the same meaning.
const SAME: f32 = 0.95;

/// Maximum confidence from meaning alone.
const MOST_BY_MEANING: f32 = 0.8;

/// Word scores of all passages for a message.
pub(super) struct PassageWordScores<'a> {
    texts: Field,
    leads: Field,
    meaning: &'a MessageSimilarity,
}

impl<'a> PassageWordScores<'a> {
    pub(super) fn of(index: &Index, words: &str, meaning: &'a MessageSimilarity) -> Self {
        let all = 0..index.len();
        Self {
            meaning,
            texts: Field::of(index.words().scores(words, all.clone())),
            leads: Field::of(index.leads().scores(words, all)),
        }
    }

    /// Returns the passages with the best scores by words or meaning.
    pub(super) fn best(&self) -> Vec<usize> {
        let mut best: Vec<usize> = self.texts.best.iter().chain(&self.leads.best).copied().collect();
        best.extend(self.meaning.best());
        best.sort_unstable();
        best.dedup();
        best
    }

    /// Returns the weight of the words that a passage shares with the message.
    pub(super) fn tie(&self, index: &Index, passage: usize) -> WordTie {
        let WordTie { evidence, order } = self.shared(index, passage);
        let cosine = self.meaning.of(passage);
        // Catalogue entries are similar in meaning and in words, although they describe different failures.
        let is_entry = index.passage(passage).is_some_and(|entry| entry.shape.is_some());
        let strictness = if is_entry { ENTRY_STRICTNESS } else { PROSE_STRICTNESS };
        let alike = ((cosine - UNRELATED) / (SAME - UNRELATED)).clamp(0.0, 1.0);
        let sure = alike.powf(strictness).min(MOST_BY_MEANING);
        // Texts with similar words also have similar meanings, so the evidence is not independent.
        let evidence = evidence.max(-(1.0 - sure).ln());
        WordTie { evidence, order: order + CLOSEST * self.meaning.relative(passage) }
    }

    fn shared(&self, index: &Index, passage: usize) -> WordTie {
        let (Some(entry), Some(text)) = (index.passage(passage), self.texts.scores.of(passage)) else {
            return WordTie::default();
        };
        let lead = self.leads.scores.of(passage);
        let order = BEST_WORDS * self.texts.relative(Some(text)) + BEST_LEAD * self.leads.relative(lead);
        let (coverage, strictness) = if entry.shape.is_some() {
            (lead_first(lead, text, entry.text.len()), ENTRY_STRICTNESS)
        } else {
            (text.coverage, PROSE_STRICTNESS)
        };
        let sure = coverage.powf(strictness) * text.evidence / (text.evidence + HALF_EVIDENCE);
        WordTie { evidence: -(1.0 - sure.min(MOST_BY_WORDS)).ln(), order }
    }
}

/// Returns the share of the message's words that an entry contains. Causes and remedies below the title mention topics
/// of other entries, so words outside the beginning count less the longer the entry is.
fn lead_first(lead: Option<Score>, text: Score, length: usize) -> f32 {
    let lead = lead.map_or(0.0, |lead| lead.coverage);
    let rest = (LEAD_CHARS as f32 / length.max(1) as f32).min(1.0);
    lead + (text.coverage - lead).max(0.0) * rest
}

/// Scores in one field of the passages.
struct Field {
    scores: Scores,
    best: Vec<usize>,
    best_score: f32,
}

impl Field {
    fn of(scores: Scores) -> Self {
        let best = scores.best(BEST_BY_WORDS);
        let best_score = best.first().and_then(|best| scores.of(*best)).map_or(1.0, |best| best.score);
        Self { scores, best, best_score }
    }

    /// Returns the score relative to the best one.
    fn relative(&self, score: Option<Score>) -> f32 {
        score.map_or(0.0, |score| score.score / self.best_score)
    }
}
