//! Documentation files → sections of passages.

pub(crate) mod blocks;
#[cfg(test)]
mod catalogue_tests;
mod errors;
mod files;
mod formats;
pub(crate) mod heads;
#[cfg(test)]
mod hostile_tests;
pub(crate) mod labels;
pub(crate) mod operation_globs;
pub(crate) mod records;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::explain::Settings;
use crate::explain::passages::outline::{OutlinedSection, outline};
use crate::explain::passages::runs::PassagePart;
use blocks::DocumentBlock;
use errors::ContentError;
pub use errors::DocumentError;
pub use files::DOCUMENTATION_ENDINGS;
use files::DocumentationFile;
use formats::format::{DocumentFormat, format_of};
pub(crate) use formats::markdown::markdown;
use formats::nested_rows::with_rows;
use formats::{asciidoc, assignments, delimited, html, json, plain, rst, yaml};

/// Content below one heading of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Section {
    /// File name, or its path relative to the searched folder with `/` as separator.
    pub file: String,
    /// Enclosing headings, outermost first; empty before the first heading.
    pub path: Vec<String>,
    /// Passages, and text that is still to be split into passages, in document order.
    pub(crate) parts: Vec<PassagePart>,
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
    fn passages(&self) -> Vec<crate::explain::passages::pieces::Piece> {
        let by_words = crate::explain::passages::sentence_vectors::SentenceVectors::default();
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
                documents.errors.extend(error.map(|error| error.in_file(file.path)));
            }
            Err(error) => documents.errors.push(error),
        }
    }
    documents
}

/// Parses a file into sections, for tests of what is found in them.
#[cfg(test)]
pub(crate) fn sections_of(name: &str, bytes: &[u8], settings: &Settings) -> Vec<Section> {
    sections(name, bytes, settings).0
}

/// Parses a file into sections. Also returns the error in its content, if any.
fn sections(name: &str, bytes: &[u8], settings: &Settings) -> (Vec<Section>, Option<ContentError>) {
    let (blocks, error) = blocks(Path::new(name), bytes);
    let blocks = with_rows(blocks);
    let sections = outline(blocks, settings).into_iter().map(|OutlinedSection { path, parts }| Section {
        file: name.to_owned(),
        path,
        parts,
        tools: Arc::default(),
    });
    (sections.collect(), error)
}

/// Parses a file by its format.
fn blocks(path: &Path, bytes: &[u8]) -> (Vec<DocumentBlock>, Option<ContentError>) {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes);
    match format_of(path, &text) {
        DocumentFormat::Html => (html::html(&text), None),
        DocumentFormat::Json => {
            let (blocks, error) = json::json(bytes);
            (blocks, error.map(ContentError::Json))
        }
        DocumentFormat::Yaml => match yaml::yaml(&text) {
            (blocks, None) => (blocks, None),
            // The lines of a broken file are still documentation.
            (_, Some(problem)) => (plain::plain(&text), Some(ContentError::Yaml(problem))),
        },
        DocumentFormat::Delimited => (delimited::delimited(bytes), None),
        DocumentFormat::Rst => (rst::rst(&text), None),
        DocumentFormat::Asciidoc => (asciidoc::asciidoc(&text), None),
        DocumentFormat::Plain => (assignments::assignments(&text).unwrap_or_else(|| plain::plain(&text)), None),
        DocumentFormat::Markdown => (markdown(&text), None),
    }
}

/// Parses a Markdown text into passages (AutoFeedback section 3.3.1). Neighbouring sentences are joined up to
/// `passage_chars`, but not across headings. Longer texts form a run that is split at the gaps with the least cohesion.
/// A table row or the definition of a code forms its own passage, because only one of a list of codes explains an
/// outcome.
pub(crate) fn parts(text: &str, settings: &Settings) -> Vec<PassagePart> {
    outline(markdown(text), settings).into_iter().flat_map(|section| section.parts).collect()
}
