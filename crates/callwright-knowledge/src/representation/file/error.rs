//! What can be wrong with representation files.

use std::io;
use std::path::PathBuf;

use callwright_common::watch::FolderError;

/// The files cannot be used. Where good ones are in force they stay.
#[derive(Debug, thiserror::Error)]
pub enum RepresentationError {
    /// A file or the directory cannot be read, or holds more than can be reviewed.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A file cannot be written.
    #[error("cannot write {}: {source}; name a folder that exists and may be written, on a disk with room", .path.display())]
    Unwritable {
        /// What was written.
        path: PathBuf,
        /// Why it could not be.
        source: io::Error,
    },
    /// A file holds no representations.
    #[error("{file}:{line}:{column}: {message}")]
    Invalid {
        /// The file.
        file: String,
        /// Line, from 1; 0 where it is not known.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What is wrong and what mends it.
        message: String,
    },
    /// What is to be written is nothing that could be read again.
    #[error("{}: {place}: {message}", .path.display())]
    Unfit {
        /// The file.
        path: PathBuf,
        /// The place, as a JSON Pointer.
        place: String,
        /// What is wrong.
        message: String,
    },
    /// Two files are about the same tools.
    #[error("{}: {} has a file already, {}; join the two, or remove one", .second.display(), whose(.toolset.as_deref()), .first.display())]
    Duplicate {
        /// The toolset; `None` for tools that clients send.
        toolset: Option<String>,
        /// The file that was read first.
        first: PathBuf,
        /// The other file.
        second: PathBuf,
    },
}

fn whose(toolset: Option<&str>) -> String {
    toolset.map_or_else(|| "what clients send".to_owned(), |toolset| format!("the toolset `{toolset}`"))
}
