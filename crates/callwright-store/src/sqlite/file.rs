//! Identity of the database file: writes to a deleted or replaced file would be lost.

use std::path::{Path, PathBuf};

use crate::StoreError;

/// The opened file.
#[derive(Debug)]
pub(super) struct OpenedFile {
    path: PathBuf,
    identity: Option<Identity>,
}

/// Device and inode of a file; `None` on systems without them.
type Identity = (u64, u64);

impl OpenedFile {
    /// Returns the file that is at `path` now.
    pub(super) fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), identity: identity(path) }
    }

    /// Checks that the same file is still at the path.
    ///
    /// # Errors
    /// [`StoreError::FileGone`].
    pub(super) fn check(&self) -> Result<(), StoreError> {
        if self.identity.is_none() || identity(&self.path) == self.identity {
            return Ok(());
        }
        let what = if self.path.exists() { "was replaced" } else { "was deleted" };
        Err(StoreError::FileGone(format!("{} {what} while it was in use; the store is reopened", self.path.display())))
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
