//! Finds words and short phrases that discriminate some texts from all others.

use std::collections::{HashMap, HashSet};

use unicode_segmentation::UnicodeSegmentation;

use callwright_search::retrieval::{is_stop_word, is_unspaced, tokens};

/// Maximum weight of the prior, in words: about as many as some dozens of requests have. It never exceeds the total
/// number of words.
const PRIOR: f32 = 500.0;

/// Minimum z-score of a discriminative word.
const MIN_Z_SCORE: f32 = 0.5;

/// Maximum number of words of a phrase.
const MAX_PHRASE_WORDS: usize = 4;

/// Document frequencies of words over all samples.
#[derive(Debug, Clone, Default)]
pub(super) struct Background {
    counts: HashMap<String, f32>,
    total: f32,
}

impl Background {
    /// Counts the words of all samples.
    pub(super) fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let (counts, total) = document_frequencies(texts);
        Self { counts, total }
    }

    /// Returns words and phrases that discriminate some samples from the others, best first, with at most `most` such
    /// words in total. Words are ranked by z-scored log odds with a Dirichlet prior (Monroe, Colaresi and Quinn,
    /// "Fightin' Words", 2008), and joined to phrases that several of the texts contain. All are in the spelling of the
    /// texts.
    pub(super) fn discriminative(&self, texts: &[&str], most: usize) -> Vec<String> {
        let (counts, total) = document_frequencies(texts.iter().copied());
        let mut scored: Vec<(String, f32)> = counts
            .into_iter()
            .filter(|(term, _)| !is_stop_word(term) && !is_letter(term))
            .map(|(term, count)| {
                let score = self.score(&term, count, total);
                (term, score)
            })
            .filter(|(_, score)| *score > MIN_Z_SCORE)
            .collect();
        scored.sort_unstable_by(|left, right| right.1.total_cmp(&left.1).then_with(|| left.0.cmp(&right.0)));
        scored.truncate(most);
        let terms: Vec<String> = scored.into_iter().map(|(term, _)| term).collect();
        let phrases = phrases_of(texts, &terms);
        let spellings = spellings(texts);
        let mut covered: HashSet<&str> = HashSet::new();
        let mut discriminative = Vec::new();
        for term in &terms {
            if covered.contains(term.as_str()) {
                continue;
            }
            let candidates = phrases.iter().filter(|phrase| {
                phrase.terms.contains(term) && phrase.terms.iter().all(|term| !covered.contains(term.as_str()))
            });
            if let Some(phrase) = candidates.max_by_key(|phrase| (phrase.terms.len(), *phrase)) {
                covered.extend(phrase.terms.iter().map(String::as_str));
                discriminative.push(phrase.text.clone());
            } else if term.chars().nth(1).is_some() {
                discriminative.push(spellings.get(term).unwrap_or(term).clone());
            }
        }
        discriminative
    }

    fn score(&self, term: &str, count: f32, total: f32) -> f32 {
        let all = self.counts.get(term).copied().unwrap_or_default().max(count);
        let prior_weight = PRIOR.min(self.total);
        let prior = prior_weight * all / self.total.max(1.0);
        let (count_here, count_elsewhere) = (count + prior, all - count + prior);
        let difference = log_odds(count_here, total + prior_weight)
            - log_odds(count_elsewhere, (self.total - total).max(0.0) + prior_weight);
        difference / (count_here.recip() + count_elsewhere.recip()).sqrt()
    }
}

/// Returns the logarithm of the odds of a term among `total` terms.
fn log_odds(count: f32, total: f32) -> f32 {
    (count / (total - count).max(1.0)).ln()
}

/// Whether a term is a single letter. A single ideograph is a word or a part of one.
fn is_letter(term: &str) -> bool {
    let mut characters = term.chars();
    characters.next().is_some_and(|character| !is_unspaced(character)) && characters.next().is_none()
}

/// Sequence of adjacent words that begins and ends with discriminative words.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct TermPhrase {
    /// The discriminative terms in it, in order.
    terms: Vec<String>,
    /// In lower case.
    text: String,
}

impl TermPhrase {
    fn new(words: &[&str], text: String, terms: &HashSet<&str>) -> Option<Self> {
        let mut phrase_terms: Vec<String> = Vec::new();
        for (position, word) in words.iter().enumerate() {
            match &tokens(word)[..] {
                [term] if terms.contains(term.as_str()) && !phrase_terms.contains(term) => {
                    phrase_terms.push(term.clone())
                }
                _ if position == 0 || position + 1 == words.len() => return None,
                _ => {}
            }
        }
        (phrase_terms.len() > 1).then_some(Self { terms: phrase_terms, text })
    }
}

/// Returns the phrases with at least two of the terms that several of the texts contain.
fn phrases_of(texts: &[&str], terms: &[String]) -> Vec<TermPhrase> {
    let terms: HashSet<&str> = terms.iter().map(String::as_str).collect();
    let mut counts: HashMap<TermPhrase, u32> = HashMap::new();
    for text in texts {
        let sequences = sequences(text).into_iter();
        let of_text: HashSet<TermPhrase> =
            sequences.filter_map(|(words, phrase)| TermPhrase::new(&words, phrase, &terms)).collect();
        for phrase in of_text {
            *counts.entry(phrase).or_default() += 1;
        }
    }
    // No text can be reassembled from phrases that other texts have too.
    counts.into_iter().filter(|(_, texts)| *texts > 1).map(|(phrase, _)| phrase).collect()
}

/// Returns the sequences of two to [`MAX_PHRASE_WORDS`] words of a text, with their words, and as text in lower case.
/// Punctuation ends a sequence, as does the word that joins the phrases of a sentence.
fn sequences(text: &str) -> Vec<(Vec<&str>, String)> {
    let words: Vec<(usize, &str)> = text.unicode_word_indices().collect();
    let mut sequences = Vec::new();
    for start in 0..words.len() {
        let mut sequence: Vec<&str> = Vec::new();
        let Some((first, _)) = words.get(start) else { break };
        let mut end = *first;
        for (at, word) in words.iter().skip(start).take(MAX_PHRASE_WORDS) {
            let is_adjacent = text.get(end..*at).is_some_and(|gap| gap.trim().is_empty());
            if !is_adjacent || word.eq_ignore_ascii_case(super::sentence::CONJUNCTION) {
                break;
            }
            end = at + word.len();
            sequence.push(word);
            if sequence.len() > 1 {
                let phrase = text.get(*first..end).unwrap_or_default().to_lowercase();
                sequences.push((sequence.clone(), phrase));
            }
        }
    }
    sequences
}

fn document_frequencies<'a>(texts: impl IntoIterator<Item = &'a str>) -> (HashMap<String, f32>, f32) {
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
fn spellings(texts: &[&str]) -> HashMap<String, String> {
    let mut counts: HashMap<(String, String), usize> = HashMap::new();
    for word in texts.iter().flat_map(|text| text.unicode_words()) {
        if let [term] = &tokens(word)[..] {
            *counts.entry((term.clone(), word.to_lowercase())).or_default() += 1;
        }
    }
    let mut best: HashMap<String, (usize, String)> = HashMap::new();
    for ((term, word), count) in counts {
        let spelling = best.entry(term).or_default();
        // Ties are resolved alphabetically, for reproducible runs.
        if (count, std::cmp::Reverse(&word)) > (spelling.0, std::cmp::Reverse(&spelling.1)) {
            *spelling = (count, word);
        }
    }
    best.into_iter().map(|(term, (_, word))| (term, word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_words_that_are_rare_elsewhere_are_discriminative() {
        let distinct = ["I lost my cards", "the cards are lost", "lost again"];
        let others = ["I want my money", "the money is not here", "I am here again"];
        let background = Background::new(distinct.into_iter().chain(others));
        assert_eq!(background.discriminative(&distinct, 2), ["lost", "cards"], "terms have the spelling of the texts");
        assert!(!background.discriminative(&distinct, 9).contains(&"the".to_owned()));
    }

    #[test]
    fn adjacent_words_of_several_texts_are_one_phrase() {
        let distinct = ["I lost my card in Rome", "Help, lost my card!", "my PIN is blocked", "blocked, PIN"];
        let background = Background::new(distinct.into_iter().chain(["what is my balance", "where is my money"]));
        let discriminative = background.discriminative(&distinct, 9);
        assert!(discriminative.contains(&"lost my card".to_owned()), "{discriminative:?}");
        assert!(discriminative.contains(&"pin".to_owned()), "one text alone has them side by side: {discriminative:?}");
        let distinct = ["今天天气怎么样", "明天天气好吗"];
        let background = Background::new(distinct.into_iter().chain(["我要订机票", "我的卡丢了"]));
        let discriminative = background.discriminative(&distinct, 9);
        assert!(discriminative.iter().any(|phrase| phrase.contains("天气")), "{discriminative:?}");
    }

    #[test]
    fn identical_texts_have_no_discriminative_words() {
        let background = Background::new(["one two", "one two"]);
        assert_eq!(background.discriminative(&[], 3), Vec::<String>::new());
    }
}
