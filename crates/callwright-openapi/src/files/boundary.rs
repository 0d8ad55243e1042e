//! Which local files a document may refer to.
//!
//! What a document refers to ends in descriptions that models and providers see, so a document that comes from elsewhere must not choose
//! among all files of this machine. It may name files below one folder, the root: the document's own folder, or a folder above it
//! that the operator names. Links are resolved before the rule is applied, and only files whose names end as those of documents do are
//! read, so that keys and configurations beside a document stay where they are.

use std::fs;
use std::path::{Path, PathBuf};

/// Endings of files that a document may refer to.
const EXTENSIONS: [&str; 4] = ["json", "yaml", "yml", "jsonschema"];

/// The local files that a document may refer to.
#[derive(Debug, Clone)]
pub(super) struct Boundary {
    /// As it was named, absolute.
    root: PathBuf,
    /// With links resolved; `None` where there is no such folder.
    resolved: Option<PathBuf>,
}

impl Boundary {
    /// Files below the absolute path `root`.
    pub(super) fn below(root: PathBuf) -> Self {
        let resolved = fs::canonicalize(&root).ok();
        Self { root, resolved }
    }

    /// The file that the absolute and normalised `path` names, with links resolved. An error says why it is not read.
    pub(super) fn admit(&self, path: &Path) -> Result<PathBuf, String> {
        let outside = || {
            let root = self.root.display();
            format!("is outside of `{root}`; set the toolset's `root` to a folder that has both, if that is right")
        };
        let root = self.resolved.as_ref().ok_or_else(outside)?;
        // Before anything is looked for, so that the answer does not tell which files there are.
        if !path.starts_with(&self.root) && !path.starts_with(root) {
            return Err(outside());
        }
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        if !EXTENSIONS.iter().any(|known| extension == *known) {
            return Err(format!("is no file that a document may refer to; those end in {}", EXTENSIONS.join(", ")));
        }
        let resolved = fs::canonicalize(path).map_err(|error| format!("cannot be read: {error}"))?;
        if resolved.starts_with(root) { Ok(resolved) } else { Err(outside()) }
    }
}
