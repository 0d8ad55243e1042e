//! Representation files: YAML written by the learner and edited by people, one file per toolset.

mod classifier;
mod error;
mod form;
pub mod limits;
mod shared;
mod stored;
mod validate;
mod write;

use std::path::{Path, PathBuf};

pub use error::RepresentationError;
pub(super) use shared::shared_classifier;
pub use shared::{shared_classifier_id, shared_id};
pub use stored::{
    LearnerRun, PatternSource, Ranking, RepresentationFile, StoredClassifier, StoredPattern, StoredRepresentation,
};

pub(super) use classifier::read_classifier;

use callwright_common::text::shortened;
use callwright_common::watch::{Folder, FolderFile};
use callwright_common::yaml::{self, Bounds, YamlProblem};
use callwright_search::retrieval::{ClassifierModel, ClassifierWeights};
use validate::{InvalidValue, validate};

/// Limits of the YAML parser. Files need 5 levels, the rest is for anchors and merges, and events for all tools with about
/// half of their patterns.
const BOUNDS: Bounds = Bounds { depth: 16, events: 8_000_000 };

impl RepresentationFile {
    /// Reads and parses a file.
    ///
    /// # Errors
    /// [`RepresentationError`]: the file cannot be read or is invalid; with the location and the fix.
    pub fn read(path: &Path) -> Result<Self, RepresentationError> {
        Self::parse(&FolderFile::read(path.to_owned(), limits::FILE_BYTES)?)
    }

    /// Writes a file atomically. Equal content produces equal bytes.
    ///
    /// # Errors
    /// [`RepresentationError`]: the file cannot be written, or the content is invalid, such as more than 12 patterns
    /// for a tool.
    pub fn write(&self, path: &Path) -> Result<(), RepresentationError> {
        write::write(self, path)
    }

    /// Writes a file with a classifier beside it, or without one, and removes the classifier of an earlier run.
    ///
    /// # Errors
    /// The same as [`RepresentationFile::write`].
    pub fn write_with(
        &mut self,
        path: &Path,
        classifier: Option<(&ClassifierModel, ClassifierWeights)>,
    ) -> Result<(), RepresentationError> {
        // The classifier comes first, because a reader of the new file needs it.
        self.classifier = match classifier {
            Some((model, weights)) => Some(classifier::write_classifier(path, model, weights)?),
            None => None,
        };
        self.write(path)?;
        if self.classifier.is_none() {
            classifier::remove_classifier(path)?;
        }
        Ok(())
    }

    /// Returns the text that [`RepresentationFile::write`] writes.
    ///
    /// # Errors
    /// The same as there, except for I/O errors.
    pub fn to_text(&self) -> Result<String, RepresentationError> {
        write::text(self, Path::new(""))
    }

    /// Parses and validates a file. Errors contain file, line, column and fix.
    pub(super) fn parse(file: &FolderFile) -> Result<Self, RepresentationError> {
        let content: Self = match yaml::is_blank(&file.text) {
            true => Self::default(),
            false => yaml::read(&file.text, BOUNDS).map_err(|problem| invalid(file, problem))?,
        };
        match validate(&content) {
            Ok(()) => Ok(content),
            Err(InvalidValue { location, message }) => {
                Err(invalid(file, yaml::problem_at(&file.text, &location, message, BOUNDS)))
            }
        }
    }
}

fn invalid(file: &FolderFile, problem: YamlProblem) -> RepresentationError {
    let YamlProblem { line, column, message } = problem;
    RepresentationError::Invalid { file: file.shown(), line, column, message }
}

/// Returns the folder of representation files at a path.
pub(super) fn folder(directory: &Path) -> Folder {
    let path = directory.to_owned();
    Folder { path, files: "representation files", max_files: limits::FILES, max_bytes: limits::FILE_BYTES }
}

/// Returns where the representations of a toolset are written in `directory`: the existing file of the toolset with its
/// content, or a new file named after the toolset.
///
/// # Errors
/// [`RepresentationError`]: the directory or one of its files cannot be read.
pub fn locate_file(
    directory: &Path,
    toolset: Option<&str>,
) -> Result<(PathBuf, Option<RepresentationFile>), RepresentationError> {
    let mut taken = Vec::new();
    for text in folder(directory).read()? {
        let file = RepresentationFile::parse(&text)?;
        if file.toolset.as_deref() == toolset {
            return Ok((text.path, Some(file)));
        }
        taken.push(text.path);
    }
    let stem = toolset.map_or_else(|| "tools".to_owned(), stem);
    let mut path = directory.join(format!("{stem}.yaml"));
    let mut number = 1_usize;
    while taken.contains(&path) {
        number += 1;
        path = directory.join(format!("{stem}-{number}.yaml"));
    }
    Ok((path, None))
}

/// Converts a toolset's name to a file name.
fn stem(toolset: &str) -> String {
    let stem = toolset.replace(|character: char| !character.is_alphanumeric() && !"-_.".contains(character), "-");
    let stem = shortened(stem.trim_start_matches(['.', '-']), STEM_CHARS);
    if stem.is_empty() { "toolset".to_owned() } else { stem.to_owned() }
}

/// Maximum number of characters of a file stem: up to four bytes each, within the usual limit of 255 bytes.
const STEM_CHARS: usize = 60;

#[cfg(test)]
mod tests;
