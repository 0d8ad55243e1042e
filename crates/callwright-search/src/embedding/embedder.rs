//! What every model of meaning can do.

use std::fmt;

use futures_util::future::BoxFuture;

use super::Vector;

/// A model that turns texts into vectors.
pub trait Embedder: fmt::Debug + Send + Sync {
    /// Which model it is, in which version and, of a remote one, where: vectors of two embedders may be compared exactly where this is the
    /// same. How much of a long text is read is no part of it: that changes what is said, not the space that it is said in.
    fn id(&self) -> &str;

    /// Components of each vector.
    fn dimensions(&self) -> usize;

    /// Does it give vectors at once, without a model that takes its time or a network? A request that may do without vectors waits for no others.
    fn is_immediate(&self) -> bool {
        false
    }

    /// One vector for each text, in their order. An empty text has a vector too: it is close to nothing.
    ///
    /// Work that takes longer than an async thread may be held up is done elsewhere; dropping the future abandons it.
    ///
    /// # Errors
    /// [`EmbedError`], which says for the operator why there are no vectors. Whoever asks goes on without.
    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EmbedError>>;

    /// The vector of a text that a request waits for and that hardly comes again, such as what a user asks or a failure says. It is the one
    /// that [`Self::embed`] gives; but it is kept nowhere, and an embedder that may take long gives up early instead.
    ///
    /// # Errors
    /// [`EmbedError`], also where the embedder failed a moment ago and is not asked again yet.
    fn embed_query(&self, text: String) -> BoxFuture<'_, Result<Vector, EmbedError>> {
        Box::pin(async move {
            let vector = self.embed(vec![text]).await?.pop();
            vector.ok_or_else(|| EmbedError {
                model: self.id().to_owned(),
                reason: "it gave no vector for a text; use another model".to_owned(),
            })
        })
    }
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
