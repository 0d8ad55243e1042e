//! Terms as numbers, so that an index of a hundred thousand texts need not store their words.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher};

use super::tokens::tokens;

/// A term, as a hash of its text that is the same in every index. A collision among a million terms occurs once in many
/// millions of collections, and affects the order of some results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term(u64);

impl Term {
    /// Returns the hash of a term in the form of [`tokens`].
    pub fn of(term: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(term.as_bytes());
        Self(hasher.finish())
    }
}

/// Returns the terms of a text without duplicates, in the order of their first occurrence, because floating-point sums
/// depend on the order.
pub(super) fn distinct_terms(text: &str) -> Vec<Term> {
    let mut seen = HashSet::new();
    tokens(text).iter().map(|token| Term::of(token)).filter(|term| seen.insert(*term)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terms_of_a_query_are_unique_and_in_order() {
        let terms = ["red", "apple", "green"].map(Term::of);
        assert_eq!(distinct_terms("Red apples, green apples: red!"), terms);
        assert!(distinct_terms(" ?! ").is_empty());
    }
}
