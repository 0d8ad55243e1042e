//! Exports checked documents as normalised OpenAPI 3.0 files.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::documents::{DocumentEntry, DocumentSource};
use callwright_openapi::{Export, Simplification, Toolset, export};

/// Ending of exported files.
const ENDING: &str = "json";

/// Name of the file for a document without a name, such as standard input.
const UNNAMED: &str = "document";

/// The folder for exported documents, with one file for each.
#[derive(Debug)]
pub(super) struct ExportFolder {
    /// Files by the names of the documents.
    files: HashMap<String, PathBuf>,
    /// The documents of the run, which are not overwritten.
    sources: HashSet<PathBuf>,
}

impl ExportFolder {
    /// Creates the folder, and assigns a file to each document: its relative path with the ending `.json`. If two
    /// documents would have the same file, later ones keep their own ending before it.
    ///
    /// # Errors
    /// The error of creating the folder.
    pub(super) fn new(folder: &Path, entries: &[DocumentEntry]) -> io::Result<Self> {
        fs::create_dir_all(folder)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", folder.display())))?;
        let mut files = HashMap::new();
        let mut taken = HashSet::new();
        let mut sources = HashSet::new();
        for entry in entries {
            let name = relative(&entry.name);
            let mut file = name.with_extension(ENDING);
            let mut number = 2;
            while !taken.insert(file.clone()) {
                let numbered = if number == 2 { String::new() } else { format!(".{number}") };
                file = PathBuf::from(format!("{}{numbered}.{ENDING}", name.display()));
                number += 1;
            }
            files.insert(entry.name.clone(), folder.join(file));
            if let DocumentSource::File(path) = &entry.source {
                sources.extend(fs::canonicalize(path));
            }
        }
        Ok(Self { files, sources })
    }

    /// Writes the export of `toolset`, and returns what it does not contain.
    ///
    /// # Errors
    /// A message for the user: the file cannot be written, or is one of the checked documents.
    pub(super) fn write(&self, entry: &DocumentEntry, toolset: &Toolset) -> Result<Vec<Simplification>, String> {
        let Some(file) = self.files.get(&entry.name) else { return Ok(Vec::new()) };
        if fs::canonicalize(file).is_ok_and(|file| self.sources.contains(&file)) {
            return Err(format!("{} is a checked document; choose another folder for --export", file.display()));
        }
        let Export { document, losses } = export(toolset);
        let mut text = serde_json::to_string_pretty(&document).map_err(|error| error.to_string())?;
        text.push('\n');
        let written = file.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(file, text));
        written.map_err(|error| format!("{}: {error}; check --export", file.display()))?;
        Ok(losses)
    }
}

/// Returns a path that stays below a folder: the normal components of a relative name, otherwise the last one.
fn relative(name: &str) -> PathBuf {
    let path = Path::new(name);
    let is_named = !name.is_empty() && name != "-";
    let is_below =
        is_named && path.components().all(|part| matches!(part, Component::Normal(_))) && !name.contains("://");
    if is_below {
        return path.to_owned();
    }
    let last = name.split(['?', '#']).next().unwrap_or_default().rsplit(['/', '\\']).find(|part| !part.is_empty());
    let last = last.filter(|last| ![".", "..", "-"].contains(last)).unwrap_or(UNNAMED);
    PathBuf::from(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_below_the_folder() {
        for (name, expected) in [
            ("a/b.yaml", "a/b.yaml"),
            ("../x/a.yaml", "a.yaml"),
            ("/etc/api.json", "api.json"),
            ("https://api.example/v1/openapi.json?key=1", "openapi.json"),
            ("https://api.example/..", "document"),
            ("-", "document"),
            ("..", "document"),
        ] {
            assert_eq!(relative(name), Path::new(expected), "{name}");
        }
    }

    #[test]
    fn documents_with_one_stem_have_different_files() {
        let folder = tempfile::tempdir().unwrap();
        let found = |name: &str| DocumentEntry {
            source: DocumentSource::Fault(String::new()),
            name: name.to_owned(),
            shown: name.to_owned(),
            root: None,
        };
        let entries = [found("a.json"), found("a.yaml"), found("a.yml")];
        let export = ExportFolder::new(folder.path(), &entries).unwrap();
        let files: HashSet<&PathBuf> = export.files.values().collect();
        assert_eq!(files.len(), 3, "{files:?}");
        assert_eq!(export.files["a.json"], folder.path().join("a.json"));
        assert_eq!(export.files["a.yaml"], folder.path().join("a.yaml.json"));
    }
}
