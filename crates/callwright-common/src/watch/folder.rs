//! Folders of YAML files that people edit, and their hot reload.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use sha2::{Digest, Sha256};

use super::{Trigger, WatchError, Watcher, watch};
use crate::digest::add_part;

/// Location and limits of a folder of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// The directory.
    pub path: PathBuf,
    /// Name of the files for messages, in the plural.
    pub files: &'static str,
    /// Maximum number of files.
    pub max_files: usize,
    /// Maximum size of a file in bytes.
    pub max_bytes: usize,
}

/// One file of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderFile {
    pub path: PathBuf,
    /// Content of the file.
    pub text: String,
}

/// A folder or one of its files is unusable.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The file or the directory cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Unreadable {
        /// Path of the file or directory.
        path: PathBuf,
        /// Cause of the failure.
        source: io::Error,
    },
    /// A size limit is exceeded.
    #[error("{} holds more than {limit} {what}", .path.display())]
    TooMuch {
        /// Path of the directory or file.
        path: PathBuf,
        /// Unit of the limit.
        what: &'static str,
        limit: usize,
    },
}

/// Digest of paths and contents, for the detection of changes.
pub type FolderDigest = [u8; 32];

impl FolderFile {
    /// Reads a file of at most `max_bytes`.
    ///
    /// # Errors
    /// [`FolderError`]: the file cannot be read, is not UTF-8, or is too large.
    pub fn read(path: PathBuf, max_bytes: usize) -> Result<Self, FolderError> {
        let mut bytes = Vec::new();
        let read = fs::File::open(&path).and_then(|file| file.take(max_bytes as u64 + 1).read_to_end(&mut bytes));
        if let Err(source) = read {
            return Err(FolderError::Unreadable { path, source });
        }
        if bytes.len() > max_bytes {
            return Err(FolderError::TooMuch { path, what: "bytes", limit: max_bytes });
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self { path, text }),
            Err(error) => {
                let place = error.utf8_error().valid_up_to();
                let line = error.as_bytes().iter().take(place).filter(|byte| **byte == b'\n').count() + 1;
                let message = format!("line {line} is not UTF-8; save the file as UTF-8");
                Err(FolderError::Unreadable { path, source: io::Error::new(io::ErrorKind::InvalidData, message) })
            }
        }
    }

    /// Returns the path for messages.
    pub fn shown(&self) -> String {
        self.path.display().to_string()
    }
}

impl Folder {
    /// Reads the files in the order of their names. Hidden files are skipped: editors and Kubernetes store their own
    /// data there.
    ///
    /// # Errors
    /// [`FolderError`]: the directory or a file cannot be read, or a limit is exceeded.
    pub fn read(&self) -> Result<Vec<FolderFile>, FolderError> {
        let mut paths = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(|source| self.unreadable(source))? {
            let path = entry.map_err(|source| self.unreadable(source))?.path();
            if is_yaml(&path) {
                paths.push(path);
            }
            if paths.len() > self.max_files {
                return Err(FolderError::TooMuch { path: self.path.clone(), what: self.files, limit: self.max_files });
            }
        }
        paths.sort();
        paths.into_iter().map(|path| FolderFile::read(path, self.max_bytes)).collect()
    }

    fn unreadable(&self, source: io::Error) -> FolderError {
        FolderError::Unreadable { path: self.path.clone(), source }
    }
}

fn is_yaml(path: &Path) -> bool {
    let is_hidden = path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
    let is_yaml = path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
    // A dangling link is included, so that it causes an error rather than being skipped.
    is_yaml && !is_hidden && !path.is_dir()
}

/// Computes the digest of files.
pub fn digest(files: &[FolderFile]) -> FolderDigest {
    let mut hash = Sha256::new();
    for file in files {
        add_part(&mut hash, file.path.as_os_str().as_encoded_bytes());
        add_part(&mut hash, file.text.as_bytes());
    }
    hash.finalize().into()
}

/// Watches a folder and reloads it into `current`, in a thread with this name, when `trigger` fires. It skips the
/// reload if the files have the digest `seen` or that of the last reload, successful or not. `make` creates the new
/// value from the files and the current value. If it fails, or the files cannot be read, `current` is unchanged.
/// `on_result` is called for every reload.
///
/// # Errors
/// [`WatchError`], if the system cannot watch the directory.
pub fn reload<T: Send + Sync + 'static, E: From<FolderError> + 'static>(
    folder: Folder,
    seen: FolderDigest,
    trigger: impl Into<Trigger>,
    name: &str,
    current: Arc<ArcSwap<T>>,
    make: impl Fn(Vec<FolderFile>, &T) -> Result<T, E> + Send + 'static,
    on_result: impl Fn(Result<(), &E>) + Send + 'static,
) -> Result<Watcher, WatchError> {
    let mut seen = Some(seen);
    let place = folder.path.clone();
    watch(&place, trigger, name, move || {
        let made = match folder.read() {
            Ok(files) => {
                let digest = Some(digest(&files));
                if seen == digest {
                    return;
                }
                seen = digest;
                make(files, &current.load())
            }
            Err(error) => {
                seen = None;
                Err(error.into())
            }
        };
        match made {
            Ok(made) => {
                current.store(Arc::new(made));
                on_result(Ok(()));
            }
            Err(error) => on_result(Err(&error)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(root: &tempfile::TempDir) -> Folder {
        Folder { path: root.path().to_owned(), files: "letters", max_files: 2, max_bytes: 8 }
    }

    fn names(files: &[FolderFile]) -> Vec<&str> {
        files.iter().map(|file| file.path.file_name().unwrap().to_str().unwrap()).collect()
    }

    #[test]
    fn yaml_files_are_read_in_name_order_without_hidden_ones() {
        let root = tempfile::tempdir().unwrap();
        for name in ["b.yml", "a.yaml", ".hidden.yaml", "notes.txt"] {
            fs::write(root.path().join(name), name.to_uppercase().get(..1).unwrap()).unwrap();
        }
        fs::create_dir(root.path().join("folder.yaml")).unwrap();
        let files = folder(&root).read().unwrap();
        assert_eq!(names(&files), ["a.yaml", "b.yml"]);
        assert_eq!(files[0].text, "A");
        let mut other = files.clone();
        other[1].text.push('!');
        assert_ne!(digest(&files), digest(&other));
        assert_eq!(digest(&files), digest(&folder(&root).read().unwrap()));
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let root = tempfile::tempdir().unwrap();
        let error = || folder(&root).read().unwrap_err().to_string();
        fs::write(root.path().join("a.yaml"), "a: 1\n\u{ff}").unwrap();
        assert!(folder(&root).read().is_ok());
        fs::write(root.path().join("a.yaml"), b"a\nb\xff").unwrap();
        assert!(error().ends_with("a.yaml: line 2 is not UTF-8; save the file as UTF-8"), "{}", error());
        fs::write(root.path().join("a.yaml"), "123456789").unwrap();
        assert!(error().ends_with("a.yaml holds more than 8 bytes"), "{}", error());
        for name in ["b.yaml", "c.yaml"] {
            fs::write(root.path().join(name), "").unwrap();
        }
        assert!(error().ends_with("holds more than 2 letters"), "{}", error());
        let absent = Folder { path: root.path().join("absent"), ..folder(&root) };
        assert!(absent.read().unwrap_err().to_string().starts_with("cannot read "));
    }
}
