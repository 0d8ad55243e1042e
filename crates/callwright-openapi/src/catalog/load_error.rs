//! Errors that prevent the loading of a whole document.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Reason why a document could not be loaded. Faults of single operations are in the [`Report`](crate::Report)
/// instead.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The file does not exist or cannot be read.
    #[error("{}: cannot be read: {source}", .path.display())]
    Read {
        /// The document.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The content is too large, neither JSON nor YAML, or not an OpenAPI document of a supported version.
    #[error("{}: {reason}", .path.display())]
    Content {
        /// The document.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// A setting is missing or invalid, or does not match the document; or a remote document cannot be fetched.
    #[error("{0}")]
    Other(String),
}

impl LoadError {
    /// Returns the error of a setting of the toolset.
    pub(crate) fn settings(toolset: &str, reason: impl Display) -> Self {
        Self::Other(format!("toolset `{toolset}`: {reason}"))
    }

    /// Returns the error of a remote document that cannot be fetched.
    pub(crate) fn fetch(url: impl Display, reason: impl Display) -> Self {
        Self::Other(format!("{url}: cannot be fetched: {reason}"))
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
