//! Representation files: YAML that the learner writes and people edit, one file for each toolset.

mod digest;
mod error;
mod form;
pub(super) mod limits;
mod parse;
mod shared;
mod stored;
mod tidy;
mod validate;
mod write;

use std::path::{Path, PathBuf};

pub use error::RepresentationError;
pub use shared::shared_id;
pub use stored::{LearnedBy, Ranking, RepresentationFile, Source, StoredPattern, StoredRepresentation};

pub(super) use tidy::{shortened, tidy};

use callwright_common::watch::{Folder, FolderFile};

impl RepresentationFile {
    /// Reads a file.
    ///
    /// # Errors
    /// [`RepresentationError`]: it cannot be read, or holds no representations; with the place and what mends it.
    pub fn read(path: &Path) -> Result<Self, RepresentationError> {
        parse::parse(&FolderFile::read(path.to_owned(), limits::FILE_BYTES)?)
    }

    /// Writes a file in one step, in the same bytes for the same content.
    ///
    /// # Errors
    /// [`RepresentationError`]: it cannot be written, or has what could not be read again (more than 12 patterns, say).
    pub fn write(&self, path: &Path) -> Result<(), RepresentationError> {
        write::write(self, path)
    }

    /// The file's text, as [`RepresentationFile::write`] writes it.
    ///
    /// # Errors
    /// As there, but for the disk.
    pub fn to_text(&self) -> Result<String, RepresentationError> {
        write::text(self, Path::new(""))
    }

    /// What a text says.
    pub(super) fn of_file(file: &FolderFile) -> Result<Self, RepresentationError> {
        parse::parse(file)
    }
}

/// The representation files of a directory.
pub(super) fn folder(directory: &Path) -> Folder {
    let path = directory.to_owned();
    Folder { path, files: "representation files", max_files: limits::FILES, max_bytes: limits::FILE_BYTES }
}

/// Where the representations of a toolset are written in `directory`: in the file that has them already; else in a new one, named after
/// the toolset.
///
/// # Errors
/// [`RepresentationError`], where what is in the directory cannot be read.
pub fn place_in(
    directory: &Path,
    toolset: Option<&str>,
) -> Result<(PathBuf, Option<RepresentationFile>), RepresentationError> {
    let mut taken = Vec::new();
    for text in folder(directory).read()? {
        let file = parse::parse(&text)?;
        if file.toolset.as_deref() == toolset {
            return Ok((text.path, Some(file)));
        }
        taken.push(text.path);
    }
    let stem = toolset.map_or_else(|| "tools".to_owned(), stem);
    let numbered = |number: usize| match number {
        1 => directory.join(format!("{stem}.yaml")),
        _ => directory.join(format!("{stem}-{number}.yaml")),
    };
    let free = (1..).map(numbered).find(|path| !taken.contains(path));
    Ok((free.unwrap_or_else(|| numbered(1)), None))
}

/// A toolset's name as that of a file.
fn stem(toolset: &str) -> String {
    let fits = |character: char| character.is_alphanumeric() || "-_.".contains(character);
    let stem: String = toolset.chars().map(|character| if fits(character) { character } else { '-' }).collect();
    let stem = shortened(stem.trim_start_matches(['.', '-']), STEM_CHARS);
    if stem.is_empty() { "toolset".to_owned() } else { stem.to_owned() }
}

/// Characters of a file's stem: four bytes each, and file systems take 255 bytes.
const STEM_CHARS: usize = 60;

#[cfg(test)]
mod tests;
