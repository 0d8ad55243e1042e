//! SQLite driver. Owns opening a file, the single writer, and error codes. Must not contain SQL of single topics.

mod open;
mod run;

#[cfg(test)]
pub(super) use open::MIGRATIONS;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sqlx::SqlitePool;

pub(super) use run::SqliteTransaction;

use super::StoreError;

/// Open SQLite database.
///
/// One connection writes: its lock is a fair queue before SQLite, which supports one writer. The others read and, in
/// WAL mode, are never blocked by it.
#[derive(Debug, Clone)]
pub(super) struct Sqlite {
    writer: SqlitePool,
    reader: SqlitePool,
    /// `None` in memory.
    file: Option<Arc<OpenedFile>>,
}

impl Sqlite {
    /// Checks that the file at the path still is the opened one.
    fn check_file(&self) -> Result<(), StoreError> {
        self.file.as_ref().map_or(Ok(()), |file| file.check())
    }

    /// Waits for running statements and closes the file; the write-ahead log is checkpointed.
    pub(super) async fn close(&self) {
        self.reader.close().await;
        self.writer.close().await;
    }
}

/// OpenedFrom database file: writes to a deleted or replaced file would be lost.
#[derive(Debug)]
struct OpenedFile {
    path: PathBuf,
    identity: Option<Identity>,
}

/// Device and inode of a file; `None` on systems without them.
type Identity = (u64, u64);

impl OpenedFile {
    /// Returns the file that is at `path` now.
    fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), identity: identity(path) }
    }

    /// Checks that the same file is still at the path.
    fn check(&self) -> Result<(), StoreError> {
        if self.identity.is_none() || identity(&self.path) == self.identity {
            return Ok(());
        }
        let what = if self.path.exists() { "was replaced" } else { "was deleted" };
        Err(StoreError::FileReplaced(format!(
            "{} {what} while it was in use; the store is reopened",
            self.path.display()
        )))
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Path) -> Option<Identity> {
    // An open file cannot be deleted on these systems.
    None
}
