//! Which file a database is in: a deleted or replaced one takes writes that nobody will find.

use std::path::{Path, PathBuf};

use crate::StoreError;

/// The file that was opened.
#[derive(Debug)]
pub(super) struct OpenedFile {
    path: PathBuf,
    identity: Option<Identity>,
}

/// Device and number of a file; `None` where the system has none.
type Identity = (u64, u64);

impl OpenedFile {
    /// The file that stands at `path` now.
    pub(super) fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), identity: identity(path) }
    }

    /// Checks that the same file stands there still.
    ///
    /// # Errors
    /// [`StoreError::FileGone`].
    pub(super) fn check(&self) -> Result<(), StoreError> {
        if self.identity.is_none() || identity(&self.path) == self.identity {
            return Ok(());
        }
        let what = if self.path.exists() { "was replaced" } else { "was deleted" };
        Err(StoreError::FileGone(format!("{} {what} while it was in use; it is opened anew", self.path.display())))
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Path) -> Option<Identity> {
    // An open file cannot be deleted there.
    None
}
