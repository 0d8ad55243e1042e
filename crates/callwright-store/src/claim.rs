//! Claim of an SQLite file by the process that serves it: two processes would not see each other's limits, approvals and
//! plans.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::{Location, Settings};

/// Maximum number of bytes read of a lock file: more than any process id has.
const MAX_ID_BYTES: u64 = 20;

/// Claim of a store; ends when it is dropped, and with the process.
#[derive(Debug)]
pub struct StoreClaim {
    /// Locked file beside the database; `None` if the store needs no claim. The lock cannot be on the database itself:
    /// closing any handle of it would release the locks of SQLite.
    _lock: Option<File>,
}

/// Error: another process serves the file.
#[derive(Debug, thiserror::Error)]
#[error(
    "the store {} is in use by another callwright{process}: end that process, name another file in `[store] url`, or use PostgreSQL, which \
     several processes can share",
    .path.display()
)]
pub struct StoreInUse {
    /// The database.
    path: PathBuf,
    /// The other process, in parentheses, if it is known.
    process: String,
}

impl StoreClaim {
    /// Claims the store of the settings. Other locations than SQLite files can be shared.
    ///
    /// A lock file that cannot be created is no error: opening the store reports the reason, or the file system has no
    /// locks.
    pub fn take(settings: &Settings, base_dir: &Path) -> Result<Self, StoreInUse> {
        let Ok(Location::File(path)) = Location::parse(settings.url.expose(), base_dir) else {
            return Ok(Self { _lock: None });
        };
        let mut name = path.clone().into_os_string();
        name.push(".lock");
        let Some(mut file) = open(Path::new(&name)) else { return Ok(Self { _lock: None }) };
        match file.try_lock() {
            Ok(()) => {
                // The process id is for people only.
                let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
                Ok(Self { _lock: Some(file) })
            }
            Err(TryLockError::WouldBlock) => Err(StoreInUse { path, process: process(&mut file) }),
            Err(TryLockError::Error(_)) => Ok(Self { _lock: None }),
        }
    }
}

fn open(path: &Path) -> Option<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).ok()
}

/// Returns the process id in the lock file, in parentheses.
fn process(file: &mut File) -> String {
    let mut id = String::new();
    let read = file.rewind().and_then(|()| file.take(MAX_ID_BYTES).read_to_string(&mut id));
    match read {
        Ok(_) if !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()) => format!(" (process {id})"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_one_claim_at_a_time_and_other_stores_have_none() {
        let folder = tempfile::tempdir().unwrap();
        let at = |url: &str| Settings { url: url.into(), ..Settings::default() };
        let first = StoreClaim::take(&at("sqlite:a.sqlite3"), folder.path()).unwrap();
        let error = StoreClaim::take(&at("sqlite:a.sqlite3"), folder.path()).unwrap_err().to_string();
        assert!(error.contains("a.sqlite3 is in use") && error.contains(&std::process::id().to_string()), "{error}");
        let _other = StoreClaim::take(&at("sqlite:b.sqlite3"), folder.path()).unwrap();
        drop(first);
        let _again = StoreClaim::take(&at("sqlite:a.sqlite3"), folder.path()).unwrap();
        for url in ["", "sqlite::memory:", "postgres://host/db", "sqlite:missing/a.sqlite3", "mysql://a"] {
            let _one = StoreClaim::take(&at(url), folder.path()).unwrap();
            StoreClaim::take(&at(url), folder.path()).unwrap();
        }
    }
}
