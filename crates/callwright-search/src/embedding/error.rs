//! Reasons why there is no embedder.

use std::path::{Path, PathBuf};

use super::local::RuntimeAbsent;

/// Reason why there is no embedder. Each message names the key or file, and the fix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// ONNX Runtime is missing: the configuration is valid, but the machine lacks the library.
    #[error(transparent)]
    Runtime(#[from] RuntimeAbsent),
    /// A setting is missing or invalid.
    #[error("`{key}`: {reason}")]
    Setting {
        /// Full path of the key.
        key: &'static str,
        /// Description of the problem and its fix.
        reason: String,
    },
    /// A file of a model cannot be read.
    #[error("{}: {reason}", file.display())]
    File {
        /// Path of the file.
        file: PathBuf,
        /// Description of the problem and its fix.
        reason: String,
    },
    /// The files of a model are readable but do not form a text model.
    #[error("{}: {reason}", folder.display())]
    Model {
        /// Path of the model's folder.
        folder: PathBuf,
        /// Description of the problem and its fix.
        reason: String,
    },
    /// Loading was aborted.
    #[error("loading the embedding model failed: {0}")]
    BrokenOff(String),
}

impl BuildError {
    pub(super) fn setting(key: &'static str, reason: impl Into<String>) -> Self {
        Self::Setting { key, reason: reason.into() }
    }

    pub(super) fn file(file: impl Into<PathBuf>, reason: impl Into<String>) -> Self {
        Self::File { file: file.into(), reason: reason.into() }
    }

    pub(super) fn model(folder: &Path, reason: impl Into<String>) -> Self {
        Self::Model { folder: folder.to_owned(), reason: reason.into() }
    }
}
