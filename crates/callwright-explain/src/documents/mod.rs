//! Documentation files → sections of passages.

pub(crate) mod blocks;
#[cfg(test)]
mod catalogue_tests;
mod files;
mod formats;
pub(crate) mod heads;
#[cfg(test)]
mod hostile_tests;
pub(crate) mod labels;
pub(crate) mod operation_globs;
pub(crate) mod records;

use std::path::{Path, PathBuf};

use crate::Settings;
use crate::passages::Piece;
pub use crate::passages::outline::Section;
use crate::passages::outline::outline;
use blocks::DocumentBlock;
pub use files::{ContentError, DocumentError};
pub use formats::format::documentation_endings;
use formats::format::{DocumentFormat, format_of};
pub(crate) use formats::markdown::markdown;
use formats::nested_rows::with_rows;
use formats::{asciidoc, assignments, delimited, html, json, plain, rst};

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
}

/// Returns the files for `paths`: each is a file, a folder (all documentation files in it and below) or a glob
/// (`docs/**/*.md`). A missing file is included so that its creation is noticed; if its folder is missing too, the
/// folder is included instead.
pub fn document_files(paths: &[PathBuf]) -> DocumentFiles {
    let (found, _) = files::find(paths);
    let awaited = paths.iter().filter_map(|path| files::awaited(path));
    let files = found.files.into_iter().map(|file| file.path).chain(awaited).collect();
    DocumentFiles { files, folders: found.folders }
}

/// Reads the files for `paths`, in the order of [`document_files`].
pub fn documents(paths: &[PathBuf], settings: &Settings) -> Documents {
    let (found, errors) = files::find(paths);
    let mut documents = Documents { sections: Vec::new(), errors };
    for file in found.files {
        match files::read(&file.path, settings.max_file_bytes) {
            Ok(bytes) => {
                let (sections, error) = sections(&file.name, &bytes, settings);
                documents.sections.extend(sections);
                documents.errors.extend(error.map(|error| DocumentError::Content { path: file.path, error }));
            }
            Err(error) => documents.errors.push(error),
        }
    }
    documents
}

/// Parses a file into sections. Also returns the error in its content, if any.
pub(crate) fn sections(name: &str, bytes: &[u8], settings: &Settings) -> (Vec<Section>, Option<ContentError>) {
    let (blocks, error) = blocks(Path::new(name), bytes);
    let mut sections = outline(with_rows(blocks), settings);
    sections.iter_mut().for_each(|section| name.clone_into(&mut section.file));
    (sections, error)
}

/// Parses a file by its format.
fn blocks(path: &Path, bytes: &[u8]) -> (Vec<DocumentBlock>, Option<ContentError>) {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes);
    let blocks = match format_of(path, &text) {
        DocumentFormat::Html => html::html(&text),
        DocumentFormat::Json => {
            let (blocks, error) = json::json(bytes);
            return (blocks, error.map(ContentError::Json));
        }
        DocumentFormat::Yaml => match json::yaml(&text) {
            Ok(blocks) => blocks,
            // The lines of a broken file are still documentation.
            Err(problem) => return (plain::plain(&text), Some(ContentError::Yaml(problem))),
        },
        DocumentFormat::Delimited => delimited::delimited(bytes),
        DocumentFormat::Rst => rst::rst(&text),
        DocumentFormat::Asciidoc => asciidoc::asciidoc(&text),
        DocumentFormat::Plain => assignments::assignments(&text).unwrap_or_else(|| plain::plain(&text)),
        DocumentFormat::Markdown => markdown(&text),
    };
    (blocks, None)
}

/// Parses a Markdown text into passages (AutoFeedback section 3.3.1). Neighbouring sentences are joined up to
/// `passage_chars`, but not across headings. Longer texts are split at the gaps with the least cohesion. A table row or
/// the definition of a code forms its own passage, because only one of a list of codes explains an outcome.
pub(crate) fn passages(text: &str, settings: &Settings) -> Vec<Piece> {
    outline(markdown(text), settings).into_iter().flat_map(|section| section.passages).collect()
}
