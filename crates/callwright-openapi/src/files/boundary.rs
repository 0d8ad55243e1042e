//! Restricts the local files that a document may refer to.
//!
//! Referenced content ends up in descriptions that models and providers see. A document from elsewhere must therefore
//! not read arbitrary local files. It may refer to files below one folder, the root: the document's own folder, or a
//! parent folder that the operator configures. Links are resolved before this check. Only files with the extensions
//! of documents are read, which excludes keys and configuration files beside a document.

use std::fs;
use std::path::{Path, PathBuf};

/// File name extensions that a document may refer to.
const EXTENSIONS: [&str; 4] = ["json", "yaml", "yml", "jsonschema"];

/// The local files that a document may refer to.
#[derive(Debug, Clone)]
pub(super) struct Boundary {
    /// The root as configured, absolute.
    root: PathBuf,
    /// The root with links resolved; `None` if it does not exist.
    resolved: Option<PathBuf>,
}

impl Boundary {
    /// Allows files below the absolute path `root`.
    pub(super) fn below(root: PathBuf) -> Self {
        let resolved = fs::canonicalize(&root).ok();
        Self { root, resolved }
    }

    /// Checks the absolute and normalised `path`, and returns it with links resolved.
    ///
    /// # Errors
    ///
    /// Returns the reason why the file is not read.
    pub(super) fn admit(&self, path: &Path) -> Result<PathBuf, String> {
        let root = self.resolved.as_ref().ok_or_else(|| self.outside())?;
        // Checked before any file access, so that the error does not reveal which files exist.
        if !path.starts_with(&self.root) && !path.starts_with(root) {
            return Err(self.outside());
        }
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        if !EXTENSIONS.iter().any(|known| extension == *known) {
            return Err(format!(
                "has an unsupported extension; a document may refer to files that end in {}",
                EXTENSIONS.join(", ")
            ));
        }
        let resolved = fs::canonicalize(path).map_err(|error| format!("cannot be read: {error}"))?;
        if resolved.starts_with(root) { Ok(resolved) } else { Err(self.outside()) }
    }

    fn outside(&self) -> String {
        let root = self.root.display();
        format!("is outside `{root}`; set the toolset's `root` to a folder that contains both if this is intended")
    }
}
