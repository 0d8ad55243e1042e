//! Configuration errors and their locations.

use std::fmt;
use std::path::PathBuf;

/// Error that prevents settings from being loaded. Prints one line per problem, in the form `FILE:LINE:COLUMN:
/// MESSAGE`.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{}: {source}; check the path that `--config` or `CALLWRIGHT_CONFIG` gives", file.display())]
    Read {
        /// The file, as it was given.
        file: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// The file is readable, but it is not a valid configuration.
    #[error("{}", lines(file, problems))]
    Invalid {
        /// The file; `None` for the built-in defaults and the command line.
        file: Option<PathBuf>,
        /// At least one problem, ordered by location.
        problems: Vec<ConfigProblem>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// Location in the file, if known.
    pub place: Option<FilePosition>,
    /// Full path of the key, such as `server.listen`; empty for a syntax error.
    pub key: String,
    /// The problem and its fix, in one line.
    pub message: String,
}

/// Location in a text file; line and column are counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FilePosition {
    pub line: usize,
    /// Column, in characters.
    pub column: usize,
}

impl FilePosition {
    /// Returns the location of a byte offset; offsets beyond the end mean the end.
    pub(super) fn of_offset(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
        Self { line: before.matches('\n').count() + 1, column }
    }
}

impl fmt::Display for FilePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

fn lines(file: &Option<PathBuf>, problems: &[ConfigProblem]) -> String {
    let file = file.as_ref().map_or_else(|| "configuration".to_owned(), |file| file.display().to_string());
    let lines = problems.iter().map(|problem| match problem.place {
        Some(place) => format!("{file}:{place}: {}", problem.message),
        None => format!("{file}: {}", problem.message),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_from_one_and_in_characters() {
        let text = "a\nçé = 1\n";
        assert_eq!(FilePosition::of_offset(text, 0), FilePosition { line: 1, column: 1 });
        assert_eq!(FilePosition::of_offset(text, text.find('=').unwrap()), FilePosition { line: 2, column: 4 });
        assert_eq!(FilePosition::of_offset(text, 1_000), FilePosition { line: 3, column: 1 });
    }
}
