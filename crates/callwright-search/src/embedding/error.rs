//! Reasons why there is no embedder.

use std::fmt::Display;
use std::path::Path;

use super::local::RuntimeAbsent;

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
    pub(super) fn setting(key: &str, reason: impl Display) -> Self {
        Self::Unusable(format!("`{key}`: {reason}"))
    }

    /// A file or folder of a model.
    pub(super) fn file(file: impl AsRef<Path>, reason: impl Display) -> Self {
        Self::Unusable(format!("{}: {reason}", file.as_ref().display()))
    }

    /// Loading the model was aborted.
    pub(super) fn aborted(reason: impl Display) -> Self {
        Self::Unusable(format!("loading the embedding model failed: {reason}"))
    }
}
