//! The texts of the policies: the files of a directory, or the built-in ones.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::PolicyError;

/// Most files of a directory, and most bytes of a file: far beyond what people write, and little memory.
const MAX_FILES: usize = 200;
const MAX_FILE_BYTES: usize = 256 * 1024;

/// What ships with the proxy.
const BUILTIN: [(&str, &str); 3] = [
    ("default.yaml", include_str!("../../policies/default.yaml")),
    ("shadow.yaml", include_str!("../../policies/shadow.yaml")),
    ("strict.yaml", include_str!("../../policies/strict.yaml")),
];

/// One policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    /// Where it is; for a built-in one, its name.
    pub(super) path: PathBuf,
    /// What it says.
    pub(super) text: String,
}

impl Source {
    /// The file's name without its ending.
    pub(super) fn stem(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// How errors call it.
    pub(super) fn shown(&self) -> String {
        self.path.display().to_string()
    }
}

/// The built-in policies, in the order of their names.
pub(super) fn builtin() -> Vec<Source> {
    BUILTIN.map(|(name, text)| Source { path: PathBuf::from(name), text: text.to_owned() }).to_vec()
}

/// The policy files of a directory, in the order of their names. Hidden files are not policies: editors and Kubernetes keep
/// their own there.
///
/// # Errors
/// [`PolicyError::Unreadable`], [`PolicyError::TooMuch`].
pub(super) fn read_directory(directory: &Path) -> Result<Vec<Source>, PolicyError> {
    let unreadable = |source| PolicyError::Unreadable { path: directory.to_owned(), source };
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if is_policy(&path) {
            paths.push(path);
        }
        if paths.len() > MAX_FILES {
            return Err(PolicyError::TooMuch { path: directory.to_owned(), what: "policy files", limit: MAX_FILES });
        }
    }
    paths.sort();
    paths.into_iter().map(read_file).collect()
}

fn is_policy(path: &Path) -> bool {
    let is_hidden = path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
    let is_yaml = path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
    // A link that leads nowhere is a policy that cannot be read: that must be said, not skipped.
    is_yaml && !is_hidden && !path.is_dir()
}

/// One policy file.
///
/// # Errors
/// As [`read_directory`].
pub(super) fn read_file(path: PathBuf) -> Result<Source, PolicyError> {
    let mut text = String::new();
    let read = fs::File::open(&path).and_then(|file| file.take(MAX_FILE_BYTES as u64 + 1).read_to_string(&mut text));
    if text.len() > MAX_FILE_BYTES {
        return Err(PolicyError::TooMuch { path, what: "bytes", limit: MAX_FILE_BYTES });
    }
    match read {
        Ok(_) => Ok(Source { path, text }),
        Err(source) => Err(PolicyError::Unreadable { path, source }),
    }
}
