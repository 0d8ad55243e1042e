//! Single files written by an operator: read within limits, and again when they change.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::{Trigger, WatchError, Watched, Watcher, watch_files};

/// An operator's file is unusable.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}; name a file that exists and may be read", .path.display())]
    Unreadable {
        path: PathBuf,
        /// Cause of the failure.
        source: io::Error,
    },
    /// The content is not valid.
    #[error("{}:{line}:{column}: {message}", .path.display())]
    Invalid {
        path: PathBuf,
        /// Line, from 1; 0 if unknown.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// Description of the problem and its fix.
        message: String,
    },
}

/// Reads a text of at most `max_bytes`; `fix` is the advice for a longer one.
///
/// # Errors
/// [`FileError::Unreadable`]: the file cannot be read, is not UTF-8, or is too large.
pub fn read_file(path: &Path, max_bytes: u64, fix: &str) -> Result<String, FileError> {
    read_limited(path, max_bytes, fix).map_err(|source| FileError::Unreadable { path: path.to_owned(), source })
}

fn read_limited(path: &Path, max_bytes: u64, fix: &str) -> io::Result<String> {
    let mut text = String::new();
    fs::File::open(path)?.take(max_bytes + 1).read_to_string(&mut text)?;
    if text.len() as u64 > max_bytes {
        let message = format!("the file has more than {} MiB; {fix}", max_bytes >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(text)
}

/// Reloads a file in a thread with this name when `trigger` fires, and passes every result to `on_result` that differs
/// from the previous one. The first result is compared with `before`.
///
/// # Errors
/// [`WatchError`], if the system cannot watch the file's directory.
pub fn reload_file<T: Clone + PartialEq + Send + 'static>(
    file: PathBuf,
    trigger: impl Into<Trigger>,
    name: &str,
    before: T,
    read: impl Fn(&Path) -> Result<T, FileError> + Send + 'static,
    on_result: impl Fn(Result<T, &str>) + Send + 'static,
) -> Result<Watcher, WatchError> {
    let watched = Watched { files: [file.clone()].into(), ..Watched::default() };
    let again = watched.clone();
    let mut seen = Ok(before);
    watch_files(watched, trigger, name, move || {
        let now = read(&file).map_err(|error| error.to_string());
        if now != seen {
            match &now {
                Ok(value) => on_result(Ok(value.clone())),
                Err(error) => on_result(Err(error)),
            }
            seen = now;
        }
        again.clone()
    })
}
