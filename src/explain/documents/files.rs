//! Which files below a folder are documentation.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Endings of the files that are read.
pub(super) const ENDINGS: [&str; 14] =
    ["md", "markdown", "mdx", "mdown", "html", "htm", "xhtml", "txt", "text", "json", "jsonl", "ndjson", "csv", "tsv"];

/// Folders within folders that are searched, at most.
const MAX_FOLDER_DEPTH: usize = 64;

/// A file of documentation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Found {
    /// Where it is.
    pub(super) path: PathBuf,
    /// The way to it from the folder that was searched, with `/` between its parts.
    pub(super) name: String,
}

/// The file that `path` names, or those of a known kind in the folder that it names and below, in the order of their names. Links to
/// folders are not followed: they could lead in circles; what begins with a dot is passed over.
pub(super) fn below(path: &Path) -> io::Result<Vec<Found>> {
    if !fs::metadata(path)?.is_dir() {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        return Ok(vec![Found { path: path.to_owned(), name }]);
    }
    let mut found = Vec::new();
    let mut folders = vec![(path.to_owned(), String::new(), 0)];
    while let Some((folder, prefix, depth)) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let file_name = entry.file_name().to_string_lossy().into_owned();
            if file_name.starts_with('.') {
                continue;
            }
            let name = if prefix.is_empty() { file_name } else { format!("{prefix}/{file_name}") };
            if entry.file_type()?.is_dir() {
                if depth < MAX_FOLDER_DEPTH {
                    folders.push((entry.path(), name, depth + 1));
                }
            } else if is_documentation(&entry.path()) {
                found.push(Found { path: entry.path(), name });
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Has the file an ending of documentation?
fn is_documentation(path: &Path) -> bool {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str())) && path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_known_kind_are_found_in_order_at_any_depth() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.md", "a/c.HTML", "a/d/e.csv", "a/x.png", ".hidden/f.md", ".g.md"] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "text").unwrap();
        }
        let found = below(folder.path()).unwrap();
        assert_eq!(found.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), ["a/c.HTML", "a/d/e.csv", "b.md"]);
    }

    #[test]
    fn a_file_is_found_whatever_its_ending_and_what_is_not_there_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("CODES");
        fs::write(&path, "text").unwrap();
        assert_eq!(below(&path).unwrap(), [Found { path, name: "CODES".into() }]);
        assert!(below(&folder.path().join("none")).is_err());
    }
}
