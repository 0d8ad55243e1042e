//! Files of documentation → sections of passages.

mod files;

use std::path::{Path, PathBuf};

use super::Settings;
use super::passages::{Piece, passages};

/// What stands below one heading of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Section {
    /// The file: its name, or the way to it from the folder that was read, with `/` between its parts.
    pub file: String,
    /// The headings that it stands below, outermost first; empty for what stands before the first.
    pub path: Vec<String>,
    /// Its passages, in their order.
    pub pieces: Vec<Piece>,
}

impl Section {
    /// File and headings, for people: `errors.md > Gateway > Close codes`.
    pub fn source(&self) -> String {
        std::iter::once(&self.file).chain(&self.path).map(String::as_str).collect::<Vec<_>>().join(" > ")
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
}

/// Reads files of documentation; of a folder, all of a known kind in it and below it.
pub fn documents(paths: &[PathBuf], settings: &Settings) -> Documents {
    let mut documents = Documents::default();
    for path in paths {
        match files::below(path) {
            Ok(found) => found.into_iter().for_each(|file| read(&mut documents, &file.path, file.name, settings)),
            Err(reason) => documents.errors.push(DocumentError::Read { path: path.clone(), reason }),
        }
    }
    documents
}

fn read(documents: &mut Documents, path: &Path, name: String, settings: &Settings) {
    match std::fs::read(path) {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            documents.sections.extend(of_markdown(&text, &name, settings));
        }
        Err(reason) => documents.errors.push(DocumentError::Read { path: path.to_owned(), reason }),
    }
}

fn of_markdown(text: &str, file: &str, settings: &Settings) -> Vec<Section> {
    let mut sections = Vec::new();
    let (mut path, mut body): (Vec<(usize, String)>, String) = (Vec::new(), String::new());
    let close = |path: &[(usize, String)], body: &mut String, sections: &mut Vec<Section>| {
        let pieces = passages(&std::mem::take(body), settings.passage_chars);
        let path = path.iter().map(|(_, heading)| heading.clone()).collect();
        if !pieces.is_empty() {
            sections.push(Section { file: file.to_owned(), path, pieces });
        }
    };
    for line in text.lines() {
        let level = line.len() - line.trim_start_matches('#').len();
        if (1..=6).contains(&level) && line[level..].starts_with(' ') {
            close(&path, &mut body, &mut sections);
            path.retain(|(outer, _)| *outer < level);
            path.push((level, line[level..].trim().to_owned()));
        }
        body += line;
        body.push('\n');
    }
    close(&path, &mut body, &mut sections);
    sections
}
