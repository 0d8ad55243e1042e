//! Documents to check: those named in the arguments, and those found in folders.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use url::Url;

use callwright_openapi::{self as catalog, DiscoveredDocument, Discovery};

/// Path that means standard input.
const STANDARD_INPUT: &str = "-";

/// A document to check, and its name in the report.
#[derive(Debug)]
pub(super) struct DocumentEntry {
    pub(super) source: DocumentSource,
    /// Path relative to the given folder; for a document named itself, that name.
    pub(super) name: String,
    /// Name in text reports: `name`, or the full path where files of several folders could be confused.
    pub(super) shown: String,
    /// Folder in which the document was found. References may lead anywhere below it, as in the folder of a toolset.
    /// `None` for a document named itself: its own folder applies.
    pub(super) root: Option<PathBuf>,
}

/// The documents of a run.
#[derive(Debug, Default)]
pub(super) struct DocumentList {
    pub(super) entries: Vec<DocumentEntry>,
    /// Folders that were not searched because their names begin with a dot.
    pub(super) skipped_folders: Vec<PathBuf>,
}

#[derive(Debug)]
pub(super) enum DocumentSource {
    File(PathBuf),
    /// An http or https URL.
    Url(Url),
    /// Standard input, under the given name.
    StandardInput(PathBuf),
    /// The document cannot be read, for this reason.
    Fault(String),
}

impl DocumentEntry {
    /// Returns the path of the document relative to the working directory.
    pub(super) fn path(&self) -> String {
        match &self.source {
            DocumentSource::File(path) => path.display().to_string(),
            _ => self.name.clone(),
        }
    }

    /// Returns the size of the document's first file, or 0 if it is unknown.
    pub(super) fn bytes(&self) -> u64 {
        match &self.source {
            DocumentSource::File(path) => fs::metadata(path).map_or(0, |metadata| metadata.len()),
            _ => 0,
        }
    }

    fn named(path: &Path) -> Self {
        let name = path.display().to_string();
        let url = Url::parse(&name).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let source = url.map_or_else(|| DocumentSource::File(path.to_owned()), DocumentSource::Url);
        Self { source, shown: name.clone(), name, root: None }
    }

    fn found(found: DiscoveredDocument, folder: &Path, is_only_folder: bool) -> Self {
        let shown = if is_only_folder { found.name.clone() } else { found.path.display().to_string() };
        Self { source: DocumentSource::File(found.path), name: found.name, shown, root: Some(folder.to_owned()) }
    }
}

/// Lists the named and found documents in the order of the arguments; those of a folder in the order of their names. A
/// path that does not exist is an entry too: its report states the error.
///
/// # Errors
/// If the list cannot be read.
pub(super) fn find(paths: &[PathBuf], files_from: Option<&Path>) -> Result<DocumentList, String> {
    if files_from.is_some_and(is_standard_input) && paths.iter().any(|path| is_standard_input(path)) {
        let message = "standard input cannot be a document and the list of --files-from; pass one of them as a file";
        return Err(message.to_owned());
    }
    let mut found = DocumentList::default();
    let is_only_folder = paths.len() == 1 && files_from.is_none();
    for path in paths {
        if is_standard_input(path) {
            let source = DocumentSource::StandardInput(path.clone());
            found.entries.push(DocumentEntry { source, ..DocumentEntry::named(path) });
        } else {
            found.add(path, is_only_folder);
        }
    }
    if let Some(list) = files_from {
        let lines = lines(list).map_err(|error| {
            format!("{}: {error}; --files-from takes a file that lists documents, one per line", list.display())
        });
        for path in &lines? {
            found.add(path, false);
        }
    }
    Ok(found)
}

fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == STANDARD_INPUT
}

impl DocumentList {
    /// Adds the document at `path`, or those in the folder `path`.
    fn add(&mut self, path: &Path, is_only_folder: bool) {
        if !path.is_dir() {
            self.entries.push(DocumentEntry::named(path));
            return;
        }
        match catalog::discover(path) {
            Ok(Discovery { documents, skipped_folders }) => {
                for found in documents {
                    self.entries.push(DocumentEntry::found(found, path, is_only_folder));
                }
                self.skipped_folders.extend(skipped_folders.into_iter().map(|name| path.join(name)));
            }
            Err(error) => {
                let source = DocumentSource::Fault(error.to_string());
                self.entries.push(DocumentEntry { source, ..DocumentEntry::named(path) });
            }
        }
    }
}

/// Reads the paths of a list; they need not be UTF-8.
fn lines(list: &Path) -> io::Result<Vec<PathBuf>> {
    let reader: Box<dyn BufRead> = if list.as_os_str() == STANDARD_INPUT {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(list)?))
    };
    let mut paths = Vec::new();
    for line in reader.split(b'\n') {
        let line = line?;
        let line = line.trim_ascii();
        if !line.is_empty() {
            paths.push(PathBuf::from(OsStr::from_bytes(line)));
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(paths: &[&Path], list: Option<&Path>) -> Vec<String> {
        let paths: Vec<PathBuf> = paths.iter().map(|path| (*path).to_owned()).collect();
        find(&paths, list).unwrap().entries.into_iter().map(|entry| entry.name).collect()
    }

    #[test]
    fn folders_give_their_documents_and_named_files_all_count() {
        let folder = tempfile::tempdir().unwrap();
        let notes = folder.path().join("notes.txt");
        for (file, text) in
            [("b.yaml", "openapi: 3.0.0"), ("a.json", "{\"swagger\": 2.0}"), ("c.json", "{}"), ("notes.txt", "")]
        {
            fs::write(folder.path().join(file), text).unwrap();
        }
        let absent = Path::new("absent.json");
        let named = notes.display().to_string();
        assert_eq!(names(&[folder.path(), &notes, absent], None), ["a.json", "b.yaml", &named, "absent.json"]);
    }

    #[test]
    fn documents_of_several_folders_are_shown_with_their_paths() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.json"), "{\"swagger\": 2.0}").unwrap();
        let path = folder.path().to_owned();
        let shown = |paths: &[PathBuf]| {
            find(paths, None).unwrap().entries.into_iter().map(|entry| entry.shown).collect::<Vec<_>>()
        };
        let long = path.join("a.json").display().to_string();
        assert_eq!(shown(std::slice::from_ref(&path)), ["a.json"]);
        assert_eq!(shown(&[path.clone(), path]), [long.clone(), long]);
    }

    #[test]
    fn a_list_names_documents_and_folders() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.json"), "{\"swagger\": 2.0}").unwrap();
        let list = folder.path().join("list");
        fs::write(&list, format!("one.json\r\n\n two.txt\n{}\n", folder.path().display())).unwrap();
        assert_eq!(names(&[], Some(&list)), ["one.json", "two.txt", "a.json"]);
        let error = find(&[], Some(Path::new("absent-list"))).unwrap_err().to_string();
        assert!(error.starts_with("absent-list: "), "{error}");
    }

    #[test]
    fn standard_input_is_one_thing_or_the_other() {
        let standard = PathBuf::from("-");
        assert!(matches!(
            find(std::slice::from_ref(&standard), None).unwrap().entries[0].source,
            DocumentSource::StandardInput(_)
        ));
        assert!(find(std::slice::from_ref(&standard), Some(&standard)).unwrap_err().starts_with("standard input"));
    }
}
