//! Files of documentation → sections of passages.

#[cfg(test)]
mod catalogue_tests;
mod delimited;
mod files;
#[cfg(test)]
mod hostile_tests;
mod html;
mod json;
mod lines;
mod markdown;
mod plain;
mod tables;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Settings;
use super::blocks::{Block, folded};
use super::outline::{Outlined, outline};
use super::passages::Part;
use super::records::joined;
pub use files::DOCUMENTATION_ENDINGS;
use files::Found;
pub(super) use markdown::markdown;

/// What stands below one heading of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Section {
    /// The file: its name, or the way to it from the folder that was read, with `/` between its parts.
    pub file: String,
    /// The headings that it stands below, outermost first; empty for what stands before the first.
    pub path: Vec<String>,
    /// Its passages and what is to be parted into some, in their order.
    pub(super) parts: Vec<Part>,
    /// The tools whose operations it belongs to (their names within the toolset); empty: the whole toolset, or what its headings say. Sections
    /// that belong to the same share them.
    pub tools: Arc<[String]>,
}

impl Section {
    /// File and headings, for people: `errors.md > Gateway > Close codes`.
    pub fn source(&self) -> String {
        std::iter::once(&self.file).chain(&self.path).map(String::as_str).collect::<Vec<_>>().join(" > ")
    }

    /// Its passages, parted by words alone.
    #[cfg(test)]
    fn passages(&self) -> Vec<super::passages::Piece> {
        let by_words = super::sentence_vectors::SentenceVectors::default();
        self.parts.iter().cloned().flat_map(|part| by_words.passages(part)).collect()
    }
}

/// What was read.
#[derive(Debug, Default)]
pub struct Documents {
    /// The sections of all files, in the order of the files' names.
    pub sections: Vec<Section>,
    /// Files that could not be read, or not wholly. Nobody fails because of them.
    pub errors: Vec<DocumentError>,
}

/// Documentation that is not read. The message names the file, the place and what mends it.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// There is no such file, or it may not be read.
    #[error("{}: {reason}; name a file or folder that can be read", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        reason: std::io::Error,
    },
    /// A glob is none.
    #[error("{}: {reason}; `*` and `?` stand for any characters, `**` for any folders", path.display())]
    Glob {
        /// The glob.
        path: PathBuf,
        /// Why.
        reason: globset::Error,
    },
    /// There is no documentation in a folder, or a glob fits nothing.
    #[error("{}: there is no documentation; name a file, or a folder with files that end in .{}", path.display(), DOCUMENTATION_ENDINGS.join(", ."))]
    None {
        /// The folder or glob.
        path: PathBuf,
    },
    /// A file is too large.
    #[error("{} has {bytes} bytes, more than `explain.max_file_bytes` ({limit}); split it, or raise that", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The largest that is read.
        limit: u64,
    },
    /// A file is not the JSON that its ending says it is. What stands before the place is used.
    #[error("{}: {reason}; mend the JSON there, or give the file the ending of what it is", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and column.
        reason: serde_json::Error,
    },
}

/// Where documentation is, and where more of it may come: what is to be watched.
#[derive(Debug, Default)]
pub struct DocumentFiles {
    /// The files.
    pub files: Vec<PathBuf>,
    /// The folders that were searched.
    pub folders: Vec<PathBuf>,
    /// What cannot be looked into.
    pub errors: Vec<DocumentError>,
}

/// The files that `paths` name: each a file, a folder (all files of a known kind in it and below it) or a glob (`docs/**/*.md`). What
/// is not there stands among them, for it may come; where its folder is not there either, that does.
pub fn document_files(paths: &[PathBuf]) -> DocumentFiles {
    let (found, folders, errors) = find(paths);
    let awaited = paths.iter().filter_map(|path| files::awaited(path));
    let files = found.into_iter().map(|file| file.path).chain(awaited).collect();
    DocumentFiles { files, folders, errors }
}

fn find(paths: &[PathBuf]) -> (Vec<Found>, Vec<PathBuf>, Vec<DocumentError>) {
    let (mut files, mut folders, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    for path in paths {
        match files::named(path) {
            Ok(mut found) => {
                if found.files.is_empty() {
                    errors.push(DocumentError::None { path: path.clone() });
                }
                files.append(&mut found.files);
                folders.append(&mut found.folders);
            }
            Err(error) => errors.push(error),
        }
    }
    (files, folders, errors)
}

/// Reads the files that `paths` name, as [`document_files`] finds them.
pub fn documents(paths: &[PathBuf], settings: &Settings) -> Documents {
    let (files, _, errors) = find(paths);
    let mut documents = Documents { sections: Vec::new(), errors };
    for file in files {
        match files::read(&file.path, settings.max_file_bytes) {
            Ok(bytes) => {
                let (sections, error) = sections(&file.name, &bytes, settings);
                documents.sections.extend(sections);
                documents.errors.extend(error.map(|reason| DocumentError::Json { path: file.path, reason }));
            }
            Err(error) => documents.errors.push(error),
        }
    }
    documents
}

/// The sections of a file called `name`, and what was wrong with it.
fn sections(name: &str, bytes: &[u8], settings: &Settings) -> (Vec<Section>, Option<serde_json::Error>) {
    let (blocks, error) = blocks(Path::new(name), bytes);
    let sections = outline(blocks, settings).into_iter().map(|Outlined { path, parts }| Section {
        file: name.to_owned(),
        path,
        parts,
        tools: Arc::default(),
    });
    (sections.collect(), error)
}

/// Reads a file as what its ending says; without one that says something, as what it begins with.
fn blocks(path: &Path, bytes: &[u8]) -> (Vec<Block>, Option<serde_json::Error>) {
    let text = || String::from_utf8_lossy(bytes);
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    match ending.as_str() {
        "html" | "htm" | "xhtml" => (html::html(&text()), None),
        "json" | "jsonl" | "ndjson" => json::json(bytes),
        "csv" | "tsv" => (delimited::delimited(bytes), None),
        "txt" | "text" => (plain::plain(&text()), None),
        _ => (markdown(&text()), None),
    }
}

/// The text of a value that may hold Markdown or HTML, in one line.
fn inline_text(text: &str) -> String {
    let is_marked = text.contains(['<', '[', '*', '&', '\\', '#', '\n']);
    if !is_marked {
        return folded(text);
    }
    let texts: Vec<String> = markdown(text).into_iter().filter_map(Block::into_text).collect();
    joined(&texts)
}
