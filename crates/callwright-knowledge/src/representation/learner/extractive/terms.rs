//! Finds words that discriminate some texts from all others.

use std::collections::HashMap;

use unicode_segmentation::UnicodeSegmentation;

use callwright_search::retrieval::{is_stop_word, tokens};

/// Maximum weight of the prior, in words: about as many as some dozens of requests have. It never exceeds the total
/// number of words.
const PRIOR: f32 = 500.0;

/// Minimum z-score of a discriminative word.
const TELLING: f32 = 0.5;

/// Document frequencies of words over all samples.
#[derive(Debug, Clone, Default)]
pub(super) struct Background {
    counts: HashMap<String, f32>,
    total: f32,
}

impl Background {
    /// Counts the words of all samples.
    pub(super) fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let (counts, total) = counted(texts);
        Self { counts, total }
    }

    /// Returns at most `most` words that discriminate some samples from the others, best first. Words are ranked by
    /// z-scored log odds with a Dirichlet prior (Monroe, Colaresi and Quinn, "Fightin' Words", 2008), and returned in
    /// the spelling of the texts.
    pub(super) fn telling(&self, texts: &[&str], most: usize) -> Vec<String> {
        let (counts, total) = counted(texts.iter().copied());
        let mut scored: Vec<(String, f32)> = counts
            .into_iter()
            .filter(|(term, _)| !is_stop_word(term) && term.chars().nth(1).is_some())
            .map(|(term, count)| {
                let score = self.score(&term, count, total);
                (term, score)
            })
            .filter(|(_, score)| *score > TELLING)
            .collect();
        scored.sort_unstable_by(|left, right| right.1.total_cmp(&left.1).then_with(|| left.0.cmp(&right.0)));
        scored.truncate(most);
        let written = surfaces(texts);
        scored.into_iter().map(|(term, _)| written.get(&term).cloned().unwrap_or(term)).collect()
    }

    fn score(&self, term: &str, count: f32, total: f32) -> f32 {
        let all = self.counts.get(term).copied().unwrap_or_default().max(count);
        let worth = PRIOR.min(self.total);
        let prior = worth * all / self.total.max(1.0);
        let (here, elsewhere) = (count + prior, all - count + prior);
        let difference = log_odds(here, total + worth) - log_odds(elsewhere, (self.total - total).max(0.0) + worth);
        difference / (here.recip() + elsewhere.recip()).sqrt()
    }
}

/// Returns the logarithm of the odds of a term among `total` terms.
fn log_odds(count: f32, total: f32) -> f32 {
    (count / (total - count).max(1.0)).ln()
}

fn counted<'a>(texts: impl IntoIterator<Item = &'a str>) -> (HashMap<String, f32>, f32) {
    let mut counts: HashMap<String, f32> = HashMap::new();
    let mut total = 0.0;
    for text in texts {
        let mut terms = tokens(text);
        terms.sort_unstable();
        terms.dedup();
        for term in terms {
            *counts.entry(term).or_default() += 1.0;
            total += 1.0;
        }
    }
    (counts, total)
}

/// Returns the most frequent spelling of each term.
fn surfaces(texts: &[&str]) -> HashMap<String, String> {
    let mut counts: HashMap<(String, String), usize> = HashMap::new();
    for word in texts.iter().flat_map(|text| text.unicode_words()) {
        if let [term] = &tokens(word)[..] {
            *counts.entry((term.clone(), word.to_lowercase())).or_default() += 1;
        }
    }
    let mut best: HashMap<String, (usize, String)> = HashMap::new();
    for ((term, word), count) in counts {
        let place = best.entry(term).or_default();
        // Ties are resolved alphabetically, for reproducible runs.
        if (count, std::cmp::Reverse(&word)) > (place.0, std::cmp::Reverse(&place.1)) {
            *place = (count, word);
        }
    }
    best.into_iter().map(|(term, (_, word))| (term, word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_stand_here_and_seldom_elsewhere_tell_most() {
        let here = ["I lost my cards", "the cards are lost", "lost again"];
        let elsewhere = ["I want my money", "the money is not here", "I am here again"];
        let background = Background::of(here.into_iter().chain(elsewhere));
        assert_eq!(background.telling(&here, 2), ["lost", "cards"], "and they are written as people write them");
        assert!(!background.telling(&here, 9).contains(&"the".to_owned()));
    }

    #[test]
    fn nothing_tells_a_text_from_itself() {
        let background = Background::of(["one two", "one two"]);
        assert_eq!(background.telling(&[], 3), Vec::<String>::new());
    }
}
