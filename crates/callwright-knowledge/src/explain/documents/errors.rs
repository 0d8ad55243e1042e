//! Errors of reading documentation.

use std::path::PathBuf;

use super::documentation_endings;
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
    #[error("{}: no documentation found; name a file, or a folder with files that end in .{}", path.display(), documentation_endings().collect::<Vec<_>>().join(", ."))]
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
    /// The file does not have the format that its extension indicates.
    #[error("{}:{error} there, or give the file the extension of its actual format", path.display())]
    Content {
        /// File.
        path: PathBuf,
        /// Cause.
        error: ContentError,
    },
}

/// Error in the content of a file: its position, cause and remedy.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// Invalid JSON. Content before the error is used.
    #[error(" {0}; fix the JSON")]
    Json(serde_json::Error),
    /// Invalid YAML. The lines are used as plain text.
    #[error("{}:{}: {}; fix the YAML", .0.line, .0.column, .0.message)]
    Yaml(YamlProblem),
}
