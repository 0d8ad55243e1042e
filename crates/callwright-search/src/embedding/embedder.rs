//! The interface of embedding models.

use std::fmt;

use futures_util::future::BoxFuture;

use super::Vector;
use super::local::RuntimeAbsent;

/// A model that converts texts to vectors.
pub trait Embedder: fmt::Debug + Send + Sync {
    /// Returns the model's id: name, version and, for a remote model, address. Vectors of two embedders are comparable
    /// exactly if the ids are equal. The maximum text length is not part of the id: it affects the content of a vector,
    /// but not its space.
    fn id(&self) -> &str;

    /// Number of components of each vector.
    fn dimensions(&self) -> usize;

    /// Whether vectors are available at once, without a slow model or a network. A request that can do without vectors
    /// does not wait for others.
    fn is_immediate(&self) -> bool {
        false
    }

    /// Returns one vector per text, in order. An empty text has a vector too, with no similarity to any text.
    ///
    /// Work that would block an async thread for too long is done elsewhere. Dropping the future abandons it.
    ///
    /// # Errors
    /// [`EmbedError`] with the reason for the operator. The caller continues without vectors.
    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EmbedError>>;

    /// Returns the vector of a text that a request waits for and that rarely recurs, such as a user's request or an
    /// error message. The vector equals that of [`Self::embed`], but it is not cached, and a slow embedder gives up
    /// early.
    ///
    /// # Errors
    /// [`EmbedError`], also if the embedder failed recently and is paused.
    fn embed_query(&self, text: String) -> BoxFuture<'_, Result<Vector, EmbedError>> {
        Box::pin(async move {
            let vector = self.embed(vec![text]).await?.pop();
            vector.ok_or_else(|| EmbedError {
                model: self.id().to_owned(),
                reason: "it returned no vector for a text; use another model".to_owned(),
            })
        })
    }
}

/// Reason why texts have no vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{model}: {reason}")]
pub struct EmbedError {
    /// The embedder's id.
    pub model: String,
    /// Description of the problem and its fix.
    pub reason: String,
}

/// Reason why there is no embedder. Each message names the key or file, and the fix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// ONNX Runtime is missing: the configuration is valid, but the machine lacks the library.
    #[error(transparent)]
    Runtime(#[from] RuntimeAbsent),
    /// A setting, a file of a model, or a model is unusable.
    #[error("{0}")]
    Unusable(String),
}

impl BuildError {
    /// A setting, by the full path of its key.
    pub(super) fn setting(key: &str, reason: impl fmt::Display) -> Self {
        Self::Unusable(format!("`{key}`: {reason}"))
    }

    /// A file or folder of a model.
    #[cfg(feature = "local-embedding")]
    pub(super) fn file(file: impl AsRef<std::path::Path>, reason: impl fmt::Display) -> Self {
        Self::Unusable(format!("{}: {reason}", file.as_ref().display()))
    }

    /// Loading the model was aborted.
    pub(super) fn aborted(reason: impl fmt::Display) -> Self {
        Self::Unusable(format!("loading the embedding model failed: {reason}"))
    }
}
