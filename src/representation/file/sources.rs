//! The texts of representation files.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::error::RepresentationError;
use super::limits;

/// One file's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// What it says.
    pub(crate) content: String,
}

impl Text {
    /// How errors call it.
    pub(super) fn shown(&self) -> String {
        self.path.display().to_string()
    }
}

/// The representation files of a directory, in the order of their names. Hidden files are none: editors and Kubernetes keep their own
/// there.
///
/// # Errors
/// [`RepresentationError`]: the directory or a file cannot be read, or there is too much.
pub(crate) fn read_directory(directory: &Path) -> Result<Vec<Text>, RepresentationError> {
    let unreadable = |source| RepresentationError::Unreadable { path: directory.to_owned(), source };
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if is_representation(&path) {
            paths.push(path);
        }
        if paths.len() > limits::FILES {
            let path = directory.to_owned();
            return Err(RepresentationError::TooMuch { path, what: "representation files", limit: limits::FILES });
        }
    }
    paths.sort();
    paths.into_iter().map(read_text).collect()
}

fn is_representation(path: &Path) -> bool {
    let is_hidden = path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
    let is_yaml = path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
    // A link that leads nowhere is a file that cannot be read: that must be said, not skipped.
    is_yaml && !is_hidden && !path.is_dir()
}

/// One file.
///
/// # Errors
/// As [`read_directory`].
pub(super) fn read_text(path: PathBuf) -> Result<Text, RepresentationError> {
    let mut bytes = Vec::new();
    let read = fs::File::open(&path).and_then(|file| file.take(limits::FILE_BYTES as u64 + 1).read_to_end(&mut bytes));
    if let Err(source) = read {
        return Err(RepresentationError::Unreadable { path, source });
    }
    if bytes.len() > limits::FILE_BYTES {
        return Err(RepresentationError::TooMuch { path, what: "bytes", limit: limits::FILE_BYTES });
    }
    match String::from_utf8(bytes) {
        Ok(content) => Ok(Text { path, content }),
        Err(error) => {
            let place = error.utf8_error().valid_up_to();
            let line = error.as_bytes().iter().take(place).filter(|byte| **byte == b'\n').count() + 1;
            let message = format!("line {line} is not UTF-8; save the file as UTF-8");
            Err(RepresentationError::Unreadable { path, source: io::Error::new(io::ErrorKind::InvalidData, message) })
        }
    }
}
