//! What every model of meaning can do.

use std::fmt;

use futures_util::future::BoxFuture;

use super::Vector;

/// A model that turns texts into vectors.
pub trait Embedder: fmt::Debug + Send + Sync {
    /// Which model it is, in which version: vectors of two embedders may be compared exactly where this is the same.
    fn id(&self) -> &str;

    /// Components of each vector.
    fn dimensions(&self) -> usize;

    /// One vector for each text, in their order. An empty text has a vector too: it is close to nothing.
    ///
    /// Work that takes longer than an async thread may be held up is done elsewhere; dropping the future abandons it.
    ///
    /// # Errors
    /// [`EmbedError`], which says for the operator why there are no vectors. Whoever asks goes on without.
    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EmbedError>>;
}

/// Why texts have no vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{model}: {reason}")]
pub struct EmbedError {
    /// The embedder's id.
    pub model: String,
    /// What went wrong, and what mends it.
    pub reason: String,
}
