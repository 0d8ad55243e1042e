//! Files of documentation → sections of passages.

use std::path::PathBuf;

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
}

/// Reads files of documentation; of a folder, the Markdown in it.
pub fn documents(paths: &[PathBuf], settings: &Settings) -> Documents {
    let mut sections = Vec::new();
    for entry in paths.iter().filter_map(|path| std::fs::read_dir(path).ok()).flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|ending| ending == "md")
            && let Ok(text) = std::fs::read_to_string(&path)
        {
            let file = entry.file_name().to_string_lossy().into_owned();
            sections.extend(of_markdown(&text, &file, settings));
        }
    }
    sections.sort_by(|left: &Section, right| left.file.cmp(&right.file));
    Documents { sections }
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
