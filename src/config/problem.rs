//! What is wrong with a configuration, and where.

use std::fmt;
use std::path::PathBuf;

/// Why there are no settings. Prints one line per problem, in the form `FILE:LINE:COLUMN: MESSAGE`.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{}: {source}; check the path that `--config` or `CALLWRIGHT_CONFIG` gives", file.display())]
    Read {
        /// The file, as it was given.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is read, but it is not a valid configuration.
    #[error("{}", lines(file, problems))]
    Invalid {
        /// The file; `None` where the built-in defaults or the command line are meant.
        file: Option<PathBuf>,
        /// At least one, in the order of the file where they have a place.
        problems: Vec<Problem>,
    },
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where it stands in the file, where it stands there.
    pub place: Option<Place>,
    /// The key's full path, such as `server.listen`; empty for a fault of syntax.
    pub key: String,
    /// What is wrong and how to mend it, in one line.
    pub message: String,
}

/// A place in a text file, both counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Line.
    pub line: usize,
    /// Column, in characters.
    pub column: usize,
}

impl Place {
    /// The place of a byte offset; offsets behind the end mean the end.
    pub(super) fn of_offset(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
        Self { line: before.matches('\n').count() + 1, column }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

fn lines(file: &Option<PathBuf>, problems: &[Problem]) -> String {
    let file = file.as_ref().map_or_else(|| "configuration".to_owned(), |file| file.display().to_string());
    let line = |problem: &Problem| match problem.place {
        Some(place) => format!("{file}:{place}: {}", problem.message),
        None => format!("{file}: {}", problem.message),
    };
    problems.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_from_one_and_in_characters() {
        let text = "a\nçé = 1\n";
        assert_eq!(Place::of_offset(text, 0), Place { line: 1, column: 1 });
        assert_eq!(Place::of_offset(text, text.find('=').unwrap()), Place { line: 2, column: 4 });
        assert_eq!(Place::of_offset(text, 1_000), Place { line: 3, column: 1 });
    }
}
