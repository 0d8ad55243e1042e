//! Errors of representation files.

use std::io;
use std::path::PathBuf;

use callwright_common::watch::FolderError;

/// Error that makes the files unusable. Representations that are already loaded stay active.
#[derive(Debug, thiserror::Error)]
pub enum RepresentationError {
    /// A file or the directory cannot be read, or exceeds a limit.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A file cannot be written.
    #[error("cannot write {}: {source}; use an existing, writable folder on a disk with free space", .path.display())]
    Unwritable {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// A file is invalid.
    #[error("{file}:{line}:{column}: {message}")]
    Invalid {
        /// Name of the file.
        file: String,
        /// Line, from 1; 0 if unknown.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// Problem and fix.
        message: String,
    },
    /// The data to write would not be readable again.
    #[error("{}: {location}: {message}", .path.display())]
    InvalidContent {
        /// Path of the file.
        path: PathBuf,
        /// Location of the value, as a JSON Pointer.
        location: String,
        /// Problem.
        message: String,
    },
    /// Two files are for the same toolset.
    #[error("{}: duplicate file for {}; merge it with {}, or remove one", .second.display(), toolset_phrase(.toolset.as_deref()), .first.display())]
    Duplicate {
        /// Name of the toolset; `None` for tools that clients send.
        toolset: Option<String>,
        /// File that was read first.
        first: PathBuf,
        /// Second file.
        second: PathBuf,
    },
}

fn toolset_phrase(toolset: Option<&str>) -> String {
    toolset.map_or_else(|| "tools of clients".to_owned(), |toolset| format!("the toolset `{toolset}`"))
}
