//! How alike two texts are in meaning.

use std::fmt;

/// How alike two short texts are in meaning. Vectors are made elsewhere: an implementation looks up what it was given.
pub trait Similarity: fmt::Debug + Send + Sync {
    /// 0 (nothing in common) to 1 (the same); `None` where it is not known.
    fn similarity(&self, one: &str, other: &str) -> Option<f64>;
}
