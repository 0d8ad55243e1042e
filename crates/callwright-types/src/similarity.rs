//! Semantic similarity of two names.

use std::fmt;

/// Semantic similarity of names. Implementations never block: a name without an available embedding has no similarity.
pub trait Similarity: fmt::Debug + Send + Sync {
    /// Returns the similarity of an unknown `name` to the name of a tool or parameter, from 0 (unrelated) to 1
    /// (identical); `None` if it is not available.
    fn similarity(&self, name: &str, candidate: &str) -> Option<f64>;

    /// Returns the similarity of `name` to each of `candidates`, in order. Work that depends only on `name` is done
    /// once.
    fn similarities(&self, name: &str, candidates: &[&str]) -> Vec<Option<f64>> {
        candidates.iter().map(|candidate| self.similarity(name, candidate)).collect()
    }
}
