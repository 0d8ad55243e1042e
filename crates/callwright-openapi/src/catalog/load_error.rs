//! Errors that prevent the loading of a whole document.

use std::path::{Path, PathBuf};

use thiserror::Error;

/// Reason why a document could not be loaded. Faults of single operations are in the [`Report`](crate::Report)
/// instead.
#[derive(Debug, Error)]
pub enum LoadError {
    /// A setting of the toolset is missing or invalid, or does not match the document.
    #[error("toolset `{toolset}`: {reason}")]
    Settings {
        /// The toolset.
        toolset: String,
        /// The setting with its fault and its correction.
        reason: String,
    },
    /// The toolset's document does not exist or cannot be read.
    #[error(
        "`toolsets.{toolset}.document` is `{given}`, but {} cannot be read: {source}; correct the path (a relative one begins at the \
         configuration file's folder, {})",
        .path.display(), .base_dir.display()
    )]
    Document {
        /// The toolset.
        toolset: String,
        /// The document as configured.
        given: String,
        /// Path that was read.
        path: PathBuf,
        /// Folder to which a relative path refers.
        base_dir: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The file does not exist or cannot be read.
    #[error("{}: cannot be read: {source}", .path.display())]
    Read {
        /// The document.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The remote document cannot be fetched.
    #[error("{url}: cannot be fetched: {reason}")]
    Fetch {
        /// URL of the document.
        url: String,
        /// Reason of the failure.
        reason: String,
    },
    /// The content is too large, neither JSON nor YAML, or not an OpenAPI document of a supported version.
    #[error("{}: {reason}", .path.display())]
    Content {
        /// The document.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
}

impl LoadError {
    pub(crate) fn settings(toolset: &str, reason: impl Into<String>) -> Self {
        Self::Settings { toolset: toolset.to_owned(), reason: reason.into() }
    }

    pub(crate) fn content(path: &Path, reason: impl Into<String>) -> Self {
        Self::Content { path: path.to_owned(), reason: reason.into() }
    }

    /// Returns the path of the local document, if the error concerns that file alone.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Read { path, .. } | Self::Content { path, .. } => Some(path),
            _ => None,
        }
    }
}
