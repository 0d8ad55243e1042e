//! Errors of reading documentation.

use std::path::PathBuf;

use super::files::DOCUMENTATION_ENDINGS;
use callwright_common::yaml::YamlProblem;

/// Error while reading documentation. The message names the file, the position and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// The file does not exist or cannot be read.
    #[error("{}: {reason}; name a file or folder that can be read", path.display())]
    Read {
        /// File or folder.
        path: PathBuf,
        /// Cause.
        reason: std::io::Error,
    },
    /// Invalid glob pattern.
    #[error("{}: {reason}; `*` and `?` match any characters, `**` matches any folders", path.display())]
    Glob {
        /// Glob pattern.
        path: PathBuf,
        /// Cause.
        reason: globset::Error,
    },
    /// No documentation in a folder, or no match for a glob.
    #[error("{}: no documentation found; name a file, or a folder with files that end in .{}", path.display(), DOCUMENTATION_ENDINGS.join(", ."))]
    None {
        /// Folder or glob.
        path: PathBuf,
    },
    /// The file is too large.
    #[error("{} has {bytes} bytes, more than `explain.max_file_bytes` ({limit}); split the file or raise the limit", path.display())]
    TooLarge {
        /// File.
        path: PathBuf,
        /// Size in bytes.
        bytes: u64,
        /// Maximum size in bytes.
        limit: u64,
    },
    /// The file is not the JSON that its extension indicates. Content before the error is used.
    #[error("{}: {reason}; fix the JSON there, or give the file the extension of its actual format", path.display())]
    Json {
        /// File.
        path: PathBuf,
        /// Cause, with line and column.
        reason: serde_json::Error,
    },
    /// The file is not the YAML that its extension indicates. Its lines are used as plain text.
    #[error("{}:{line}:{column}: {message}; fix the YAML there, or give the file the extension of its actual format", path.display())]
    Yaml {
        /// File.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// Cause.
        message: String,
    },
}

/// Error in the content of a file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ContentError {
    #[error("{0}")]
    Json(serde_json::Error),
    #[error("{}:{}: {}", .0.line, .0.column, .0.message)]
    Yaml(YamlProblem),
}

impl ContentError {
    pub(crate) fn in_file(self, path: PathBuf) -> DocumentError {
        match self {
            Self::Json(reason) => DocumentError::Json { path, reason },
            Self::Yaml(YamlProblem { line, column, message }) => DocumentError::Yaml { path, line, column, message },
        }
    }
}
