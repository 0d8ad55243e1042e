//! Similarity of two names in meaning.

use std::fmt;

/// Similarity of names in meaning. An implementation never blocks: a name whose meaning is not known yet has no similarity.
pub trait Similarity: fmt::Debug + Send + Sync {
    /// Similarity of an unknown `name` to the name of a tool or parameter, 0 (nothing in common) to 1 (the same); `None` where it is not
    /// known.
    fn similarity(&self, name: &str, candidate: &str) -> Option<f64>;

    /// The similarity of `name` to each of `candidates`, in their order. What depends on `name` alone is computed once.
    fn similarities(&self, name: &str, candidates: &[&str]) -> Vec<Option<f64>> {
        candidates.iter().map(|candidate| self.similarity(name, candidate)).collect()
    }
}
