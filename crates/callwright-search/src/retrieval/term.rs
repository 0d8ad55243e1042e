//! Terms as numbers: an index of a hundred thousand texts need not hold their words.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher};

use super::tokens::tokens;

/// A term, by a hash of its text that is the same in every index. That two of a million terms have the same one happens once in many millions
/// of such collections, and costs the order of some results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term(u64);

impl Term {
    /// The number of one term, written as [`tokens`] gives it.
    pub fn of(term: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(term.as_bytes());
        Self(hasher.finish())
    }
}

/// The terms of a text without repetitions, in the order of their first appearance: sums of floating-point numbers depend on their order.
pub(super) fn distinct_terms(text: &str) -> Vec<Term> {
    let mut seen = HashSet::new();
    tokens(text).iter().map(|token| Term::of(token)).filter(|term| seen.insert(*term)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terms_of_a_query_stand_once_in_their_order() {
        let terms = ["red", "apple", "green"].map(Term::of);
        assert_eq!(distinct_terms("Red apples, green apples: red!"), terms);
        assert!(distinct_terms(" ?! ").is_empty());
    }
}
