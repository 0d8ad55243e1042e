//! `callwright check`: what of OpenAPI documents can be used as tools.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::errors::VerbResult;
use crate::catalog::{self, Report, ToolsetSettings};

/// Endings of the files that a folder is searched for.
const DOCUMENT_EXTENSIONS: [&str; 3] = ["json", "yaml", "yml"];

/// Folders within folders that are searched, at most.
const MAX_FOLDER_DEPTH: usize = 64;

/// Arguments of `check`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// OpenAPI documents, or folders with such.
    #[arg(value_name = "PATH", required_unless_present = "files_from")]
    paths: Vec<PathBuf>,
    /// How reports are printed; `json` prints one line per document.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// File that names further documents, one a line; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    files_from: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// A document to read, and the name that its report gives it.
struct Document {
    path: PathBuf,
    name: String,
}

/// Why `check` fails: what it was asked to read cannot be read, or gave no tools at all.
#[derive(Debug, thiserror::Error)]
enum CheckError {
    #[error("{}: {source}; give a document, a folder, or a file that names documents", path.display())]
    Path { path: PathBuf, source: io::Error },
    #[error("{failed} of {all} documents could not be loaded; their reports say why")]
    Documents { failed: usize, all: usize },
}

pub(super) fn run(arguments: &Arguments) -> VerbResult {
    let documents = documents(arguments)?;
    let mut failed = 0;
    for document in &documents {
        let report = report(document);
        failed += usize::from(report.error.is_some());
        match arguments.format {
            Format::Json => anstream::println!("{}", serde_json::to_string(&report)?),
            Format::Text => print(&report),
        }
    }
    if failed > 0 { Err(CheckError::Documents { failed, all: documents.len() }.into()) } else { Ok(()) }
}

fn report(document: &Document) -> Report {
    let name = document.path.file_stem().unwrap_or_default().to_string_lossy();
    let report = match catalog::load_document(&name, &document.path, &ToolsetSettings::default()) {
        Ok(toolset) => toolset.report,
        Err(error) => Report::of_failure("", error),
    };
    Report { file: document.name.clone(), ..report }
}

fn print(report: &Report) {
    let Report { file, operations_loaded, operations_skipped, renamed, simplified, error, .. } = report;
    if let Some(error) = error {
        anstream::println!("{file}: {error}");
        return;
    }
    anstream::println!("{file}: {operations_loaded} operations loaded, {} skipped", operations_skipped.len());
    for skipped in operations_skipped {
        anstream::println!("  skipped {}: {}", skipped.operation, skipped.reason);
    }
    for renamed in renamed {
        let from = renamed.from.as_deref().unwrap_or("no operationId");
        anstream::println!("  named {}: `{}` ({from})", renamed.operation, renamed.to);
    }
    for simplified in simplified {
        anstream::println!("  simplified {}: {}", simplified.operation, simplified.what);
    }
}

/// Every document that is named or found, in the order of the arguments; a folder's in the order of their names.
fn documents(arguments: &Arguments) -> Result<Vec<Document>, CheckError> {
    let mut found = Vec::new();
    for path in &arguments.paths {
        let error = |source| CheckError::Path { path: path.clone(), source };
        if fs::metadata(path).map_err(error)?.is_dir() {
            search(path, path, MAX_FOLDER_DEPTH, &mut found).map_err(error)?;
        } else {
            found.push(named(path));
        }
    }
    if let Some(list) = &arguments.files_from {
        let lines = lines(list).map_err(|source| CheckError::Path { path: list.clone(), source })?;
        found.extend(lines.iter().map(|line| named(Path::new(line))));
    }
    Ok(found)
}

fn named(path: &Path) -> Document {
    Document { path: path.to_owned(), name: path.display().to_string() }
}

/// Documents of a folder and the folders within it, named from `root`. Links to folders are not followed: they could lead in circles.
fn search(root: &Path, folder: &Path, depth: usize, found: &mut Vec<Document>) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            if depth > 0 {
                search(root, &path, depth - 1, found)?;
            }
        } else if is_document(&path) {
            let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            found.push(Document { path, name });
        }
    }
    Ok(())
}

fn is_document(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
    DOCUMENT_EXTENSIONS.iter().any(|known| extension == *known)
}

fn lines(list: &Path) -> io::Result<Vec<String>> {
    let reader: Box<dyn BufRead> = if list.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::new(fs::File::open(list)?))
    };
    reader.lines().filter(|line| line.as_ref().map_or(true, |line| !line.trim().is_empty())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(paths: Vec<PathBuf>, files_from: Option<PathBuf>) -> Arguments {
        Arguments { paths, format: Format::Json, files_from }
    }

    fn names(arguments: &Arguments) -> Vec<String> {
        documents(arguments).unwrap().into_iter().map(|document| document.name).collect()
    }

    #[test]
    fn folders_are_searched_in_the_order_of_names_and_named_from_themselves() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("a/deep")).unwrap();
        for file in ["b.yaml", "a/z.JSON", "a/deep/x.yml", "a/readme.md"] {
            std::fs::write(folder.path().join(file), "{}").unwrap();
        }
        assert_eq!(names(&arguments(vec![folder.path().to_owned()], None)), ["a/deep/x.yml", "a/z.JSON", "b.yaml"]);
    }

    #[test]
    fn a_list_names_documents_whatever_their_ending() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("list");
        std::fs::write(&list, "one.json\n\ntwo.txt\n").unwrap();
        assert_eq!(names(&arguments(vec![], Some(list))), ["one.json", "two.txt"]);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let absent = PathBuf::from("absent-folder");
        let error = documents(&arguments(vec![absent], None)).err().unwrap().to_string();
        assert!(error.starts_with("absent-folder: "), "{error}");
    }

    #[test]
    fn a_document_that_cannot_be_loaded_has_a_report_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("broken.json");
        std::fs::write(&path, "{").unwrap();
        let report = report(&Document { path, name: "broken.json".to_owned() });
        assert_eq!(report.file, "broken.json");
        assert!(report.error.is_some());
    }
}
