//! Why a document could not be loaded at all.

use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a document gave no toolset. Faults of single operations are no errors: they are in the [`Report`](super::Report).
#[derive(Debug, Error)]
pub enum LoadError {
    /// A toolset names no document.
    #[error("toolset `{toolset}`: no document; set `document` to the path of its OpenAPI document")]
    NoDocument {
        /// The toolset.
        toolset: String,
    },
    /// A folder has no OpenAPI documents.
    #[error(
        "toolset `{toolset}`: no OpenAPI document in {}: no .json, .yaml or .yml file in it or below it has `openapi` or `swagger` at its top",
        .path.display()
    )]
    NoDocuments {
        /// The toolset.
        toolset: String,
        /// The folder.
        path: PathBuf,
    },
    /// `document` is a URL that cannot be used.
    #[error("toolset `{toolset}`: `document` {reason}")]
    Url {
        /// The toolset.
        toolset: String,
        /// What is wrong, and what to write.
        reason: String,
    },
    /// The file is absent or cannot be read.
    #[error("{}: cannot be read: {source}", .path.display())]
    Read {
        /// The document.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The document is remote and cannot be had.
    #[error("{url}: cannot be fetched: {reason}")]
    Fetch {
        /// Where it should be.
        url: String,
        /// Why it cannot be had.
        reason: String,
    },
    /// The file is larger than `limits.document_bytes`.
    #[error("{}: larger than {limit} bytes; raise `limits.document_bytes` if that is right", .path.display())]
    TooLarge {
        /// The document.
        path: PathBuf,
        /// The limit, in bytes.
        limit: u64,
    },
    /// Neither JSON nor YAML, or nested too deeply.
    #[error("{}: {message}", .path.display())]
    Syntax {
        /// The document.
        path: PathBuf,
        /// What is wrong, with line and column.
        message: String,
    },
    /// Data, but no OpenAPI document.
    #[error("{}: no OpenAPI document: {reason}", .path.display())]
    NotOpenApi {
        /// The document.
        path: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// An OpenAPI document of a version that cannot be read yet.
    #[error("{}: {version} is not yet supported; Swagger 2.0 and OpenAPI 3 are", .path.display())]
    UnsupportedVersion {
        /// The document.
        path: PathBuf,
        /// The version, as written: `Swagger 1.2`.
        version: String,
    },
    /// `base_url` is no absolute HTTP address.
    #[error("toolset `{toolset}`: base_url `{url}` {reason}; give an absolute http or https URL")]
    BaseUrl {
        /// The toolset.
        toolset: String,
        /// What was given.
        url: String,
        /// What is wrong.
        reason: String,
    },
    /// `server` or `server_variables` mean nothing for the document.
    #[error("toolset `{toolset}`: {key} `{given}`: {reason}")]
    Server {
        /// The toolset.
        toolset: String,
        /// The setting: `server`, `server_variables.region`.
        key: String,
        /// What was given.
        given: String,
        /// What is wrong, and what there is.
        reason: String,
    },
    /// `credentials` names a scheme that the document does not define.
    #[error("toolset `{toolset}`: credentials for `{scheme}`, but {} defines {known}", .path.display())]
    UnknownScheme {
        /// The toolset.
        toolset: String,
        /// The document.
        path: PathBuf,
        /// What was given.
        scheme: String,
        /// What the document defines, as a list in words.
        known: String,
    },
}

impl LoadError {
    /// The local document that could not be loaded, where it is that alone.
    pub(super) fn path(&self) -> Option<&Path> {
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
