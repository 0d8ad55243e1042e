//! Lexical features of a request: TF-IDF weights of its words and of its pairs of adjacent words.

use std::collections::HashMap;

use crate::retrieval::term::Term;
use crate::retrieval::tokens::tokens;

/// Returns the terms of a text for a classifier: its words, and its pairs of adjacent words.
pub fn classifier_terms(text: &str) -> Vec<String> {
    let words = tokens(text);
    let mut terms = Vec::with_capacity(2 * words.len());
    for pair in words.windows(2) {
        if let [first, second] = pair {
            terms.push(format!("{first} {second}"));
        }
    }
    terms.extend(words);
    terms
}

/// Positions and inverse document frequencies of terms.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TermWeights(HashMap<Term, (u32, f32)>);

impl TermWeights {
    /// Creates the weights of terms in the order of their positions.
    pub fn new<'a>(terms: impl IntoIterator<Item = (&'a str, f32)>) -> Self {
        let mut weights = HashMap::new();
        for (position, (term, rarity)) in (0_u32..).zip(terms) {
            weights.insert(Term::of(term), (position, rarity));
        }
        Self(weights)
    }

    /// Returns the known terms of a text by position, with their weights `(1 + ln frequency) * rarity` as a vector of
    /// length one.
    pub fn features(&self, text: &str) -> Vec<(u32, f32)> {
        let mut counts: HashMap<u32, (f32, f32)> = HashMap::new();
        for term in classifier_terms(text) {
            if let Some((position, rarity)) = self.0.get(&Term::of(&term)) {
                counts.entry(*position).or_insert((0.0, *rarity)).0 += 1.0;
            }
        }
        let mut features = Vec::with_capacity(counts.len());
        for (position, (count, rarity)) in counts {
            features.push((position, (1.0 + count.ln()) * rarity));
        }
        // Sums of floating-point numbers depend on the order.
        features.sort_unstable_by_key(|(position, _)| *position);
        let norm = features.iter().map(|(_, weight)| weight * weight).sum::<f32>().sqrt();
        if norm > 0.0 {
            features.iter_mut().for_each(|(_, weight)| *weight /= norm);
        }
        features
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_words_and_adjacent_pairs() {
        assert_eq!(classifier_terms("Lost cards!"), ["lost card", "lost", "card"]);
        assert!(classifier_terms(" ?").is_empty());
    }

    #[test]
    fn features_have_length_one_and_prefer_rare_terms() {
        let weights = TermWeights::new([("card", 1.0), ("lost", 3.0), ("lost card", 3.0)]);
        let features = weights.features("lost card, unheard card");
        let norm: f32 = features.iter().map(|(_, weight)| weight * weight).sum();
        assert!((norm - 1.0).abs() < 1e-6);
        assert_eq!(features.iter().map(|(position, _)| *position).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(features[1].1 > features[0].1);
        assert!(weights.features("nothing known").is_empty());
    }
}
