//! Documentation files → sections of passages.

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
use super::blocks::{DocumentBlock, folded};
use super::outline::{OutlinedSection, outline};
use super::passages::PassagePart;
use super::records::joined;
pub use files::DOCUMENTATION_ENDINGS;
use files::DocumentationFile;
pub(super) use markdown::markdown;

/// Content below one heading of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Section {
    /// File name, or its path relative to the searched folder with `/` as separator.
    pub file: String,
    /// Enclosing headings, outermost first; empty before the first heading.
    pub path: Vec<String>,
    /// Passages, and text that is still to be split into passages, in document order.
    pub(super) parts: Vec<PassagePart>,
    /// Names of the tools whose operations the section belongs to, within the toolset. If empty, the section applies to
    /// the whole toolset or to the operations that its headings name. Sections of the same tools share this list.
    pub tools: Arc<[String]>,
}

impl Section {
    /// Formats file and headings for display: `errors.md > Gateway > Close codes`.
    pub fn source(&self) -> String {
        std::iter::once(&self.file).chain(&self.path).map(String::as_str).collect::<Vec<_>>().join(" > ")
    }

    /// Returns its passages, split by words only.
    #[cfg(test)]
    fn passages(&self) -> Vec<super::passages::Piece> {
        let by_words = super::sentence_vectors::SentenceVectors::default();
        self.parts.iter().cloned().flat_map(|part| by_words.passages(part)).collect()
    }
}

/// Result of reading documentation files.
#[derive(Debug, Default)]
pub struct Documents {
    /// Sections of all files, sorted by file name.
    pub sections: Vec<Section>,
    /// Errors of files that could not be read completely. They are not fatal.
    pub errors: Vec<DocumentError>,
}

/// Error while reading documentation. The message names the file, the position and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// The file does not exist or cannot be read.
    #[error("{}: {reason}; name a file or folder that can be read", path.display())]
    Read {
        /// File or folder.
        path: PathBuf,
        /// Cause.
        reason: std::io::Error,
    },
    /// Invalid glob pattern.
    #[error("{}: {reason}; `*` and `?` match any characters, `**` matches any folders", path.display())]
    Glob {
        /// Glob pattern.
        path: PathBuf,
        /// Cause.
        reason: globset::Error,
    },
    /// No documentation in a folder, or no match for a glob.
    #[error("{}: no documentation found; name a file, or a folder with files that end in .{}", path.display(), DOCUMENTATION_ENDINGS.join(", ."))]
    None {
        /// Folder or glob.
        path: PathBuf,
    },
    /// The file is too large.
    #[error("{} has {bytes} bytes, more than `explain.max_file_bytes` ({limit}); split the file or raise the limit", path.display())]
    TooLarge {
        /// File.
        path: PathBuf,
        /// Size in bytes.
        bytes: u64,
        /// Maximum size in bytes.
        limit: u64,
    },
    /// The file is not the JSON that its extension indicates. Content before the error is used.
    #[error("{}: {reason}; fix the JSON there, or give the file the extension of its actual format", path.display())]
    Json {
        /// File.
        path: PathBuf,
        /// Cause, with line and column.
        reason: serde_json::Error,
    },
}

/// Files and folders of documentation that are watched for changes.
#[derive(Debug, Default)]
pub struct DocumentFiles {
    /// Files, including missing ones that may be created later.
    pub files: Vec<PathBuf>,
    /// Folders that were searched.
    pub folders: Vec<PathBuf>,
    /// Errors of paths that cannot be read.
    pub errors: Vec<DocumentError>,
}

/// Returns the files for `paths`: each is a file, a folder (all documentation files in it and below) or a glob
/// (`docs/**/*.md`). A missing file is included so that its creation is noticed; if its folder is missing too, the
/// folder is included instead.
pub fn document_files(paths: &[PathBuf]) -> DocumentFiles {
    let (found, folders, errors) = find(paths);
    let awaited = paths.iter().filter_map(|path| files::awaited(path));
    let files = found.into_iter().map(|file| file.path).chain(awaited).collect();
    DocumentFiles { files, folders, errors }
}

fn find(paths: &[PathBuf]) -> (Vec<DocumentationFile>, Vec<PathBuf>, Vec<DocumentError>) {
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

/// Reads the files for `paths`, in the order of [`document_files`].
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

/// Parses a file into sections. Also returns the error in its content, if any.
fn sections(name: &str, bytes: &[u8], settings: &Settings) -> (Vec<Section>, Option<serde_json::Error>) {
    let (blocks, error) = blocks(Path::new(name), bytes);
    let sections = outline(blocks, settings).into_iter().map(|OutlinedSection { path, parts }| Section {
        file: name.to_owned(),
        path,
        parts,
        tools: Arc::default(),
    });
    (sections.collect(), error)
}

/// Parses a file by its extension; files without a known extension are parsed as Markdown.
fn blocks(path: &Path, bytes: &[u8]) -> (Vec<DocumentBlock>, Option<serde_json::Error>) {
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

/// Returns the text of a value that may contain Markdown or HTML, in one line.
fn inline_text(text: &str) -> String {
    let is_marked = text.contains(['<', '[', '*', '&', '\\', '#', '\n']);
    if !is_marked {
        return folded(text);
    }
    let texts: Vec<String> = markdown(text).into_iter().filter_map(DocumentBlock::into_text).collect();
    joined(&texts)
}
