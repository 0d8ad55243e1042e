//! Term weights within a toolset.

use std::collections::HashMap;

use callwright_search::retrieval::Term;

/// Terms with their weights, in ascending order of the terms.
pub(super) type WeightedTerms = Box<[(Term, f32)]>;

/// Number of tools whose name or description contains each term.
#[derive(Debug, Clone, Default)]
pub(super) struct ToolTermCounts {
    tools: f32,
    counts: HashMap<Term, u32>,
}

impl ToolTermCounts {
    /// Counts the distinct terms of each tool.
    pub(super) fn new<'a>(tools: impl Iterator<Item = &'a [Term]>) -> Self {
        let mut vocabulary = Self::default();
        for terms in tools {
            vocabulary.tools += 1.0;
            for term in terms {
                *vocabulary.counts.entry(*term).or_default() += 1;
            }
        }
        vocabulary
    }

    /// Returns the inverse document frequency of a term as in BM25 (Robertson and Zaragoza, "The Probabilistic
    /// Relevance Framework", 3.4), with one added to keep it positive.
    pub(super) fn rarity(&self, term: Term) -> f32 {
        let count = self.counts.get(&term).copied().unwrap_or_default() as f32;
        (1.0 + (self.tools - count + 0.5) / (count + 0.5)).ln()
    }

    /// Returns the terms with their weights; they are distinct and in ascending order.
    pub(super) fn weigh(&self, terms: &[Term]) -> WeightedTerms {
        terms.iter().map(|term| (*term, self.rarity(*term))).collect()
    }
}

/// Returns the sum of the weights.
pub(super) fn sum(terms: &[(Term, f32)]) -> f32 {
    terms.iter().map(|(_, rarity)| rarity).sum()
}

/// Returns the summed weights of those `terms` that occur in `others`.
pub(super) fn shared(terms: &[(Term, f32)], others: &[(Term, f32)]) -> f32 {
    let mut others = others.iter().map(|(term, _)| *term).peekable();
    let mut shared = 0.0;
    for (term, rarity) in terms {
        while others.next_if(|other| other < term).is_some() {}
        if others.peek() == Some(term) {
            shared += rarity;
        }
    }
    shared
}

/// Returns the weighted share of `terms` that occurs in `others`; 0 if there are no weights.
pub(super) fn share(terms: &[(Term, f32)], others: &[(Term, f32)]) -> f32 {
    let all = sum(terms);
    if all > 0.0 { shared(terms, others) / all } else { 0.0 }
}

/// Returns the union, with each term once.
pub(super) fn union(left: &[(Term, f32)], right: &[(Term, f32)]) -> WeightedTerms {
    let mut all: Vec<(Term, f32)> = left.iter().chain(right).copied().collect();
    all.sort_unstable_by_key(|(term, _)| *term);
    all.dedup_by_key(|(term, _)| *term);
    all.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(words: &str) -> Vec<Term> {
        let mut terms: Vec<Term> = words.split_whitespace().map(Term::of).collect();
        terms.sort_unstable();
        terms
    }

    #[test]
    fn rarer_words_weigh_more() {
        let vocabulary = ToolTermCounts::new([terms("get room"), terms("get user")].iter().map(Vec::as_slice));
        let rarity = |word: &str| vocabulary.rarity(Term::of(word));
        assert!(0.0 < rarity("get") && rarity("get") < rarity("room") && rarity("room") < rarity("pizza"));
    }

    #[test]
    fn shared_words_are_weighted() {
        let vocabulary = ToolTermCounts::new([terms("a b"), terms("b c")].iter().map(Vec::as_slice));
        let weigh = |words: &str| vocabulary.weigh(&terms(words));
        assert!((share(&weigh("a b"), &weigh("b a c")) - 1.0).abs() < 1e-6);
        let part = share(&weigh("a b"), &weigh("b"));
        assert!(0.0 < part && part < 0.5, "{part}");
        assert!(share(&weigh(""), &weigh("a")).abs() < 1e-6 && share(&weigh("a"), &weigh("")).abs() < 1e-6);
        assert_eq!(union(&weigh("a b"), &weigh("b c")).len(), 3);
    }
}
