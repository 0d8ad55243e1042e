//! Errors that prevent the loading of a whole document.

use std::path::{Path, PathBuf};

use thiserror::Error;

/// Reason why a document could not be loaded. Faults of single operations are in the [`Report`](crate::Report)
/// instead.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The toolset has no `document`.
    #[error("toolset `{toolset}`: no document; set `document` to the path of its OpenAPI document")]
    NoDocument {
        /// The toolset.
        toolset: String,
    },
    /// The folder contains no OpenAPI documents.
    #[error(
        "toolset `{toolset}`: no OpenAPI document in {}: no .json, .yaml or .yml file in it or its subfolders has `openapi` or `swagger` at the top level",
        .path.display()
    )]
    NoDocuments {
        /// The toolset.
        toolset: String,
        /// The folder.
        path: PathBuf,
    },
    /// `document` is an invalid URL.
    #[error("toolset `{toolset}`: `document` {reason}")]
    Url {
        /// The toolset.
        toolset: String,
        /// The fault and its correction.
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
    /// The file is larger than `limits.document_bytes`.
    #[error("{}: larger than {limit} bytes; raise `limits.document_bytes` if this is intended", .path.display())]
    TooLarge {
        /// The document.
        path: PathBuf,
        /// The limit, in bytes.
        limit: u64,
    },
    /// The text is neither JSON nor YAML, or is nested too deeply.
    #[error("{}: {message}", .path.display())]
    Syntax {
        /// The document.
        path: PathBuf,
        /// The fault with line and column.
        message: String,
    },
    /// The file is valid JSON or YAML, but not an OpenAPI document.
    #[error("{}: not an OpenAPI document: {reason}", .path.display())]
    NotOpenApi {
        /// The document.
        path: PathBuf,
        /// The missing part, or the actual kind of the file.
        reason: String,
    },
    /// The document has an unsupported OpenAPI version.
    #[error("{}: {version} is not supported; use Swagger 2.0 or OpenAPI 3", .path.display())]
    UnsupportedVersion {
        /// The document.
        path: PathBuf,
        /// The version, as written: `Swagger 1.2`.
        version: String,
    },
    /// `base_url` is not an absolute HTTP URL.
    #[error("toolset `{toolset}`: base_url `{url}` {reason}; give an absolute http or https URL")]
    BaseUrl {
        /// The toolset.
        toolset: String,
        /// The configured value.
        url: String,
        /// The fault.
        reason: String,
    },
    /// `server` or `server_variables` do not match the document.
    #[error("toolset `{toolset}`: {key} `{given}`: {reason}")]
    Server {
        /// The toolset.
        toolset: String,
        /// The configuration key: `server`, `server_variables.region`.
        key: String,
        /// The configured value.
        given: String,
        /// The fault and the allowed values.
        reason: String,
    },
    /// `credentials` names a scheme that the document does not define.
    #[error("toolset `{toolset}`: credentials for `{scheme}`, but {} defines {known}", .path.display())]
    UnknownScheme {
        /// The toolset.
        toolset: String,
        /// The document.
        path: PathBuf,
        /// The configured scheme.
        scheme: String,
        /// The schemes that the document defines, as a comma-separated list.
        known: String,
    },
}

impl LoadError {
    /// Returns the path of the local document, if the error concerns that file alone.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Read { path, .. }
            | Self::TooLarge { path, .. }
            | Self::Syntax { path, .. }
            | Self::NotOpenApi { path, .. }
            | Self::UnsupportedVersion { path, .. } => Some(path),
            _ => None,
        }
    }
}
