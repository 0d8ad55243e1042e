//! What the words of a message tie it to.

use super::index::{Index, LEAD_CHARS};
use super::meanings::Closeness;
use callwright_search::retrieval::{Score, Scores};

/// What shared words weigh.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WordTie {
    /// How sure they make: minus the logarithm of the share of such ties that are accidental.
    pub(super) evidence: f32,
    /// By how much they order.
    pub(super) order: f32,
}

/// Passages that are looked at for their words alone.
const BEST_BY_WORDS: usize = 32;

/// The passage is the best by words; others get their share of it.
const BEST_WORDS: f32 = 1.2;

/// The passage is the best by the words that it begins with; others get their share of it.
const BEST_LEAD: f32 = 1.2;

/// The power of the share of words that an entry of a catalogue has: entries that share all words but one are of other failures.
const ENTRY_STRICTNESS: f32 = 4.0;

/// The power of the share of words that prose has.
const PROSE_STRICTNESS: f32 = 1.5;

/// Evidence at which shared words are half as telling as any number of them.
const HALF_EVIDENCE: f32 = 0.5;

/// How sure words alone can make.
const MOST_BY_WORDS: f32 = 0.95;

/// The passage is the closest in meaning; others get their share of it.
const CLOSEST: f32 = 2.4;

/// The cosine of texts that have nothing to do with one another but the field that they are of.
const UNRELATED: f32 = 0.45;

/// The cosine of texts that say the same.
const SAME: f32 = 0.95;

/// How sure meaning alone can make.
const MOST_BY_MEANING: f32 = 0.8;

/// The words of a message, looked for in all passages.
pub(super) struct Words<'a> {
    texts: Field,
    leads: Field,
    meaning: &'a Closeness,
}

impl<'a> Words<'a> {
    pub(super) fn of(index: &Index, words: &str, meaning: &'a Closeness) -> Self {
        let all = 0..index.len();
        Self {
            meaning,
            texts: Field::of(index.words().scores(words, all.clone())),
            leads: Field::of(index.leads().scores(words, all)),
        }
    }

    /// The passages that are worth a look for their words.
    pub(super) fn best(&self) -> Vec<usize> {
        let mut best: Vec<usize> = self.texts.best.iter().chain(&self.leads.best).copied().collect();
        best.extend(self.meaning.best());
        best.sort_unstable();
        best.dedup();
        best
    }

    /// What ties a passage to the message by words.
    pub(super) fn tie(&self, index: &Index, passage: usize) -> WordTie {
        let WordTie { evidence, order } = self.shared(index, passage);
        let cosine = self.meaning.of(passage);
        // Entries of a catalogue are alike in meaning as they are in words, and of different failures all the same.
        let is_entry = index.passage(passage).is_some_and(|entry| entry.shape.is_some());
        let strictness = if is_entry { ENTRY_STRICTNESS } else { PROSE_STRICTNESS };
        let alike = ((cosine - UNRELATED) / (SAME - UNRELATED)).clamp(0.0, 1.0);
        let sure = alike.powf(strictness).min(MOST_BY_MEANING);
        // What is alike in words is alike in meaning too: the two are no independent witnesses.
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

/// The share of the message's words that an entry has. What an entry lists below its title, causes and remedies, names many things that
/// other entries are about: the longer it is, the less counts what only stands there.
fn lead_first(lead: Option<Score>, text: Score, length: usize) -> f32 {
    let lead = lead.map_or(0.0, |lead| lead.coverage);
    let rest = (LEAD_CHARS as f32 / length.max(1) as f32).min(1.0);
    lead + (text.coverage - lead).max(0.0) * rest
}

/// One field of the passages.
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

    /// The score as a share of the best one.
    fn relative(&self, score: Option<Score>) -> f32 {
        score.map_or(0.0, |score| score.score / self.best_score)
    }
}
