//! Finds the OpenAPI documents below a folder.
//!
//! Files are recognised by content, not by name: a document declares its version at the top level (`openapi`,
//! `swagger`). Fragments that documents refer to, configuration files and data are skipped silently. A document with
//! syntax errors further down is still found, so that it can be reported.

mod claim;

use std::collections::BTreeSet;
use std::fs::{self, DirEntry, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use callwright_common::limits::SHORT_BODY_BYTES;

pub(super) use claim::is_in as claims_in;

use crate::parse::decode;
use crate::{DocumentLimits, LoadError};

/// File name extensions of the files that are examined.
pub const DOCUMENT_ENDINGS: [&str; 3] = ["json", "yaml", "yml"];

/// Maximum nesting of folders in a search.
const MAX_FOLDER_DEPTH: usize = 64;

/// A file that declares itself an OpenAPI document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DiscoveredDocument {
    /// Path of the file, including the searched folder.
    pub path: PathBuf,
    /// Path relative to the searched folder, with `/` as separator.
    pub name: String,
}

/// Result of a search below a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Discovery {
    /// The documents, sorted by name.
    pub documents: Vec<DiscoveredDocument>,
    /// Folders that were not searched because their names begin with a dot, relative to the searched folder.
    pub skipped_folders: Vec<String>,
}

/// Returns the OpenAPI documents in `folder` and its subfolders.
///
/// A file that cannot be read is included, because loading it reports the reason. Links to folders are not followed,
/// because they could form cycles. Folders whose names begin with a dot are skipped. At most one file is in memory at
/// a time.
///
/// # Errors
///
/// Returns [`LoadError::Read`] if `folder` cannot be listed.
pub fn discover(folder: &Path) -> Result<Discovery, LoadError> {
    let DocumentSearch { found, skipped_folders, .. } = DocumentSearch::run(folder, &BTreeSet::new())?;
    Ok(Discovery { documents: found, skipped_folders })
}

/// State and result of a search.
pub(super) struct DocumentSearch<'a> {
    root: &'a Path,
    /// Files that are not examined.
    excluded: &'a BTreeSet<PathBuf>,
    pub(super) found: Vec<DiscoveredDocument>,
    pub(super) folders: Vec<PathBuf>,
    /// Names of the folders that were skipped.
    skipped_folders: Vec<String>,
}

impl<'a> DocumentSearch<'a> {
    /// Searches `root` and its subfolders, except the files in `excluded`.
    pub(super) fn run(root: &'a Path, excluded: &'a BTreeSet<PathBuf>) -> Result<Self, LoadError> {
        let mut search = Self { root, excluded, found: Vec::new(), folders: Vec::new(), skipped_folders: Vec::new() };
        search.folder(root, MAX_FOLDER_DEPTH)?;
        Ok(search)
    }

    fn folder(&mut self, folder: &Path, depth: usize) -> Result<(), LoadError> {
        self.folders.push(folder.to_owned());
        for entry in entries(folder).map_err(|source| LoadError::Read { path: folder.to_owned(), source })? {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if entry.file_name().to_string_lossy().starts_with('.') {
                    self.skipped_folders.push(self.name_of(&path));
                } else if depth > 0 && self.folder(&path, depth - 1).is_err() {
                    // Includes the folder as a document: loading it reports why it cannot be listed.
                    self.take(path);
                }
            } else if has_document_ending(&path) && !self.excluded.contains(&path) && is_document(&path) {
                self.take(path);
            }
        }
        Ok(())
    }

    fn take(&mut self, path: PathBuf) {
        self.found.push(DiscoveredDocument { name: self.name_of(&path), path });
    }

    /// Returns the path relative to the searched folder.
    fn name_of(&self, path: &Path) -> String {
        let relative = path.strip_prefix(self.root).unwrap_or(path);
        let parts: Vec<_> = relative.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        parts.join("/")
    }
}

fn entries(folder: &Path) -> io::Result<Vec<DirEntry>> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(DirEntry::path);
    Ok(entries)
}

fn has_document_ending(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
    DOCUMENT_ENDINGS.iter().any(|ending| extension == *ending)
}

/// Whether the file is an OpenAPI document. A file that no longer exists, a pipe or a device is not.
fn is_document(path: &Path) -> bool {
    match fs::metadata(path) {
        Ok(found) => found.is_file() && claims(path).unwrap_or(true),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// Whether the file's content declares an OpenAPI document.
fn claims(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    file.by_ref().take(SHORT_BODY_BYTES as u64).read_to_end(&mut bytes)?;
    if claims_in(&decode(bytes.clone()).text) {
        return Ok(true);
    }
    if bytes.len() < SHORT_BODY_BYTES {
        return Ok(false);
    }
    file.take(DocumentLimits::default().document_bytes).read_to_end(&mut bytes)?;
    Ok(claims_in(&decode(bytes).text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        discover(folder).unwrap().documents.into_iter().map(|found| found.name).collect()
    }

    fn write(folder: &Path, name: &str, bytes: &[u8]) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    #[test]
    fn documents_are_sorted_by_name_and_other_files_are_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let long = format!("{{\"paths\": {{}}, \"x\": \"{}\", \"openapi\": \"3.0.0\"}}", "x".repeat(200_000));
        let utf_16: Vec<u8> = "\u{feff}openapi: 3.1.0\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (name, text) in [
            ("b.yaml", b"openapi: 3.0.0\npaths: [broken".as_slice()),
            ("a/z.JSON", br#"{"swagger": "2.0"}"#),
            ("a/deep/er/x.yml", b"# head\n---\nopenapi: 3.1.0\n"),
            ("late.json", long.as_bytes()),
            ("utf16.yaml", &utf_16),
            ("a/readme.md", b"openapi: 3.0.0\n"),
            ("a/part.yaml", b"Pet:\n  openapi: 3.0.0\n"),
            ("empty.json", b""),
            ("package.json", br#"{"name": "x", "dependencies": {"swagger": "2.0"}}"#),
            (".git/x.yaml", b"openapi: 3.0.0\n"),
        ] {
            write(folder.path(), name, text);
        }
        assert_eq!(names(folder.path()), ["a/deep/er/x.yml", "a/z.JSON", "b.yaml", "late.json", "utf16.yaml"]);
        assert_eq!(discover(folder.path()).unwrap().skipped_folders, [".git"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_to_files_are_followed_and_links_to_folders_are_not() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "..data/api.yaml", b"openapi: 3.0.0\n");
        symlink("..data/api.yaml", folder.path().join("api.yaml")).unwrap();
        symlink(".", folder.path().join("circle")).unwrap();
        symlink(".", folder.path().join("circle.json")).unwrap();
        symlink("nowhere", folder.path().join("gone.json")).unwrap();
        assert_eq!(names(folder.path()), ["api.yaml"]);
    }

    #[test]
    fn folders_within_folders_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &format!("{}a.yaml", "d/".repeat(MAX_FOLDER_DEPTH)), b"openapi: 3.0.0\n");
        write(folder.path(), &format!("{}a.yaml", "e/".repeat(MAX_FOLDER_DEPTH + 1)), b"openapi: 3.0.0\n");
        assert_eq!(names(folder.path()).len(), 1);
    }

    #[test]
    fn a_folder_that_cannot_be_listed_is_named() {
        let error = discover(Path::new("absent-folder")).unwrap_err().to_string();
        assert!(error.starts_with("absent-folder: cannot be read"), "{error}");
    }
}
