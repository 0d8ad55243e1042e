//! A parsed TOML document with the locations of its keys and values.

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use super::interpolate::interpolate;
use super::problem::{ConfigProblem, FilePosition};
use super::{Environment, serde_message};

/// A TOML document: its text, its tree, and the location of each key and value.
pub(super) struct ConfigDocument<'t> {
    text: &'t str,
    tree: Spanned<DeTable<'t>>,
    index: Vec<SpanIndexEntry>,
}

/// One key or array element: its path, and the spans of key and value.
struct SpanIndexEntry {
    path: String,
    key: Range<usize>,
    value: Range<usize>,
    interpolated: bool,
}

impl<'t> ConfigDocument<'t> {
    /// Parses `text` and interpolates its string values. Reports every syntax error and every reference that cannot be
    /// resolved.
    pub(super) fn parse(text: &'t str, environment: &Environment) -> Result<Self, Vec<ConfigProblem>> {
        let (mut tree, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            return Err(errors.iter().map(|error| syntax_problem(text, error)).collect());
        }
        let mut walk = DocumentWalker { text, environment, index: Vec::new(), problems: Vec::new() };
        walk.table(tree.get_mut(), "");
        let DocumentWalker { index, problems, .. } = walk;
        if problems.is_empty() { Ok(Self { text, tree, index }) } else { Err(problems) }
    }

    /// Returns the location of the key at the dotted path, or of its nearest ancestor that has one.
    pub(super) fn place_of(&self, path: &str) -> Option<FilePosition> {
        let mut path = path;
        loop {
            if let Some(entry) = self.index.iter().find(|entry| entry.path == path) {
                return Some(FilePosition::of_offset(self.text, entry.key.start));
            }
            path = path.rsplit_once('.')?.0;
        }
    }

    /// Returns the tree, for changes before it is deserialised.
    pub(super) fn tree_mut(&mut self) -> &mut DeTable<'t> {
        self.tree.get_mut()
    }

    /// Returns the tree alone.
    pub(super) fn into_tree(self) -> DeTable<'t> {
        self.tree.into_inner()
    }

    /// Deserialises the tree. Serde stops at the first problem.
    pub(super) fn deserialize<T: DeserializeOwned>(&self) -> Result<T, ConfigProblem> {
        T::deserialize(Deserializer::from(self.tree.clone())).map_err(|error| self.problem(&error))
    }

    fn problem(&self, error: &toml::de::Error) -> ConfigProblem {
        let Some(span) = error.span() else {
            return ConfigProblem { place: None, key: String::new(), message: error.message().to_owned() };
        };
        let entry = self.index.iter().rev().find(|entry| entry.key == span || entry.value == span);
        let key = entry.map(|entry| entry.path.clone()).unwrap_or_default();
        let interpolated = entry.is_some_and(|entry| entry.interpolated);
        let message = serde_message::explain(error.message(), &key, interpolated);
        ConfigProblem { place: Some(FilePosition::of_offset(self.text, span.start)), key, message }
    }
}

/// Message of the parser for a table or key that is defined twice.
const DUPLICATE: &str = "duplicate key";

fn syntax_problem(text: &str, error: &toml::de::Error) -> ConfigProblem {
    let message = match error.span() {
        Some(span) if error.message() == DUPLICATE => duplicate_message(text, span.start),
        _ => error.message().to_owned(),
    };
    ConfigProblem {
        place: error.span().map(|span| FilePosition::of_offset(text, span.start)),
        key: String::new(),
        message,
    }
}

/// Explains a second definition of the table or key at an offset, with the line of the first one if it is written alike.
fn duplicate_message(text: &str, offset: usize) -> String {
    let line_number = FilePosition::of_offset(text, offset).line;
    let lines: Vec<&str> = text.lines().take(line_number).map(str::trim).collect();
    let Some((line, earlier)) = lines.split_last() else { return DUPLICATE.to_owned() };
    let is_table = line.starts_with('[');
    let (name, end) = if is_table { (line.split_inclusive(']').next(), '#') } else { (line.split('=').next(), '=') };
    let name = name.unwrap_or(line).trim();
    // The same key in another table is another key.
    let header = if is_table { None } else { earlier.iter().rposition(|line| line.starts_with('[')) };
    let first = earlier.iter().enumerate().skip(header.map_or(0, |header| header + 1)).find(|(_, line)| {
        let rest = line.strip_prefix(name).map(str::trim_start);
        rest.is_some_and(|rest| rest.starts_with(end) || (is_table && rest.is_empty()))
    });
    let place = first.map(|(index, _)| format!(", first in line {}", index + 1)).unwrap_or_default();
    let fix = if is_table { "merge both into one table" } else { "remove one of them" };
    format!("`{name}` is defined twice{place}; {fix}")
}

/// Interpolates string values and records locations. The parser bounds the depth.
struct DocumentWalker<'e> {
    text: &'e str,
    environment: &'e Environment<'e>,
    index: Vec<SpanIndexEntry>,
    problems: Vec<ConfigProblem>,
}

impl DocumentWalker<'_> {
    fn table(&mut self, table: &mut DeTable<'_>, parent: &str) {
        for (key, value) in table.iter_mut() {
            let name = key.get_ref();
            let path = if parent.is_empty() { name.to_string() } else { format!("{parent}.{name}") };
            self.value(value, path, key.span());
        }
    }

    fn value(&mut self, value: &mut Spanned<DeValue<'_>>, path: String, key: Range<usize>) {
        let span = value.span();
        let position = self.index.len();
        self.index.push(SpanIndexEntry { path: path.clone(), key, value: span.clone(), interpolated: false });
        match value.get_mut() {
            DeValue::String(text) => match interpolate(text, self.environment).map(|filled| filled.into_owned()) {
                Ok(filled) => {
                    if let Some(entry) = self.index.get_mut(position) {
                        entry.interpolated = filled != **text;
                    }
                    *text = filled.into();
                }
                Err(error) => self.problems.push(ConfigProblem {
                    place: Some(FilePosition::of_offset(self.text, span.start)),
                    message: format!("`{path}`: {error}"),
                    key: path,
                }),
            },
            DeValue::Array(elements) => {
                for (number, element) in elements.iter_mut().enumerate() {
                    let place = element.span();
                    self.value(element, format!("{path}[{number}]"), place);
                }
            }
            DeValue::Table(table) => self.table(table, &path),
            _ => {}
        }
    }
}
