//! JSON and YAML → blocks. Error catalogues are lists of objects, or objects whose keys are the codes. Member names and nesting
//! follow no standard.

use serde_json::{Map, Value};

use super::markdown::inline_text;
use super::tables::{CODE_LABEL, MAX_COLUMNS, is_header, labelled};
use crate::documents::blocks::{BlockKind, DEEPEST_HEADING, DocumentBlock, FLOW};
use crate::documents::labels::{LabelRole, is_label, role};
use crate::documents::records::{LabelledRecord, joined};
use crate::failures::body_words::scalar;
use crate::index::codes::{CodeLikelihood, is_integer, strength};
use callwright_common::text::one_line;
use callwright_common::yaml::{Bounds, YamlProblem, is_blank, read};

/// Maximum depth of objects inside a record that are merged into it; deeper ones are omitted.
const MAX_RECORD_LEVELS: usize = 4;

/// Parses JSON: one value or a sequence of values (JSON Lines).
///
/// # Errors
/// Also returns the position where the text is invalid JSON or nested too deeply. The blocks contain everything before
/// it.
pub(crate) fn json(text: &[u8]) -> (Vec<DocumentBlock>, Option<serde_json::Error>) {
    let mut reader = JsonBlockReader::default();
    for value in serde_json::Deserializer::from_slice(text).into_iter::<Value>() {
        match value {
            Ok(value) => reader.value("", &value, 0),
            Err(error) => return (reader.blocks, Some(error)),
        }
    }
    (reader.blocks, None)
}

/// Limits on the expansion of a file. Catalogues of errors are nested a few levels deep; each level takes some kilobytes
/// of the stack.
const BOUNDS: Bounds = Bounds { depth: 32, events: 4_000_000 };

/// Parses YAML: one document, or several that are separated by `---`.
///
/// # Errors
/// The problem of the first document that cannot be read.
pub(crate) fn yaml(text: &str) -> Result<Vec<DocumentBlock>, YamlProblem> {
    let mut reader = JsonBlockReader::default();
    for document in documents(text) {
        reader.value("", &read::<Value>(document, BOUNDS)?, 0);
    }
    Ok(reader.blocks)
}

/// Splits a stream into its documents, without those that have no data.
fn documents(text: &str) -> impl Iterator<Item = &str> {
    let mut starts = vec![0];
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        at += line.len();
        if line.trim_end() == "---" {
            starts.push(at);
        }
    }
    let ends: Vec<usize> = starts.iter().skip(1).copied().chain([text.len()]).collect();
    let parts = starts.into_iter().zip(ends).filter_map(|(start, end)| text.get(start..end));
    let parts = parts.map(|part| part.trim_end().strip_suffix("---").unwrap_or(part));
    parts.filter(|part| !is_blank(part))
}

#[derive(Default)]
struct JsonBlockReader {
    blocks: Vec<DocumentBlock>,
}

impl JsonBlockReader {
    /// Converts a value inside `level` objects and arrays. `level` is at most 128, the parser's limit.
    fn value(&mut self, name: &str, value: &Value, level: usize) {
        match value {
            Value::Object(members) if is_map(members) => self.map(name, members, level),
            Value::Object(members) if is_record(members) => self.record(None, members),
            Value::Object(members) => self.container(name, members, level),
            Value::Array(elements) => self.list(name, elements, level),
            scalar => self.blocks.extend(text_of(scalar).map(|text| at_flow(BlockKind::Item(text)))),
        }
    }

    /// Converts an object whose keys are codes.
    fn map(&mut self, name: &str, members: &Map<String, Value>, level: usize) {
        self.heading(name, level);
        for (key, value) in members {
            match value {
                Value::Object(members) if is_record(members) => self.record(Some(key), members),
                Value::Object(_) => self.value(key, value, level + 1),
                other => {
                    let fields =
                        vec![(CODE_LABEL.to_owned(), one_line(key)), ("description".to_owned(), texts_of(other))];
                    self.blocks.push(at_flow(BlockKind::Row(LabelledRecord { fields })));
                }
            }
        }
    }

    /// Converts an object whose nested objects become blocks of their own.
    fn container(&mut self, name: &str, members: &Map<String, Value>, level: usize) {
        self.heading(name, level);
        let (inner, own): (Vec<_>, Vec<_>) = members.iter().partition(|(_, value)| holds_objects(value));
        let fields: Vec<_> = own.into_iter().map(|(key, value)| (one_line(key), texts_of(value))).collect();
        if fields.iter().any(|(_, text)| !text.is_empty()) {
            self.records(fields);
        }
        for (key, value) in inner {
            match value {
                // Case `{"7101": {...}}` beside members of another kind.
                Value::Object(members) if is_record(members) && !has_code(members) && !is_map(members) => {
                    self.record(Some(key), members);
                }
                _ => self.value(key, value, level + 1),
            }
        }
    }

    fn list(&mut self, name: &str, elements: &[Value], level: usize) {
        self.heading(name, level);
        let rows: Option<Vec<Vec<String>>> = elements
            .iter()
            .map(|element| Some(element.as_array()?.iter().take(MAX_COLUMNS).map(texts_of).collect()))
            .collect();
        match rows {
            // An array of arrays is a table.
            Some(rows) => {
                let header = rows.first().filter(|row| is_header(row)).cloned();
                let skipped = usize::from(header.is_some());
                let header = header.unwrap_or_default();
                let rows = labelled(header, rows.into_iter().skip(skipped).collect());
                self.blocks.extend(rows.into_iter().map(at_flow));
            }
            None => elements.iter().for_each(|element| self.value("", element, level + 1)),
        }
    }

    fn record(&mut self, key: Option<&str>, members: &Map<String, Value>) {
        let mut fields = Vec::new();
        let key = key.filter(|_| !has_code(members));
        fields.extend(key.map(|key| (CODE_LABEL.to_owned(), one_line(key))));
        flatten(&mut fields, members, MAX_RECORD_LEVELS);
        self.records(fields);
    }

    /// Adds a record, split into several if it has more than `MAX_COLUMNS` members.
    fn records(&mut self, fields: Vec<(String, String)>) {
        for fields in fields.chunks(MAX_COLUMNS) {
            self.blocks.push(at_flow(BlockKind::Row(LabelledRecord { fields: fields.to_vec() })));
        }
    }

    /// Adds a heading, unless it is nested deeper than headings go.
    fn heading(&mut self, name: &str, level: usize) {
        let name = one_line(name);
        if !name.is_empty() && level <= DEEPEST_HEADING {
            self.blocks.push(DocumentBlock { depth: level.max(1), kind: BlockKind::Heading(name) });
        }
    }
}

fn at_flow(kind: BlockKind) -> DocumentBlock {
    DocumentBlock { depth: FLOW, kind }
}

/// Whether the keys of an object are codes.
fn is_map(members: &Map<String, Value>) -> bool {
    let has_labels =
        members.keys().any(|key| matches!(role(key), LabelRole::Code(0) | LabelRole::Message | LabelRole::Description));
    let codes = members.keys().filter(|key| strength(key) > CodeLikelihood::Name || is_integer(key)).count();
    // An object whose members are all alike is a map even if its keys are plain words.
    let alike = members.len() > 1 && members.values().all(is_entry_without_code);
    !has_labels && (codes * 2 > members.len() || alike)
}

fn is_entry_without_code(value: &Value) -> bool {
    value.as_object().is_some_and(|members| is_record(members) && !has_code(members))
}

/// Whether an object is one entry: scalars, and objects that only add to them.
fn is_record(members: &Map<String, Value>) -> bool {
    let has_text = members.values().any(|value| !texts_of(value).is_empty());
    has_text
        && if has_code(members) {
            !members.values().any(|value| has_codes_within(value, MAX_RECORD_LEVELS))
        } else {
            !members.values().any(holds_objects) || is_described(members)
        }
}

/// Whether an object has a description and otherwise only scalars and objects of scalars, such as a link.
fn is_described(members: &Map<String, Value>) -> bool {
    let has_description = members.iter().any(|(key, value)| {
        value.is_string() && (is_label(key) || matches!(role(key), LabelRole::Message | LabelRole::Description))
    });
    has_description
        && members.values().all(|value| match value {
            Value::Object(inner) => {
                !has_code(inner) && !inner.values().any(|value| value.is_object() || value.is_array())
            }
            other => !holds_objects(other),
        })
}

/// Whether a member contains the object's own code.
fn has_code(members: &Map<String, Value>) -> bool {
    members.iter().any(|(key, value)| matches!(role(key), LabelRole::Code(0 | 1)) && is_scalar(value))
}

/// Whether a value contains records of its own.
fn has_codes_within(value: &Value, levels: usize) -> bool {
    let Some(levels) = levels.checked_sub(1) else { return holds_objects(value) };
    match value {
        Value::Object(members) => has_code(members) || members.values().any(|value| has_codes_within(value, levels)),
        Value::Array(elements) => elements.iter().any(|value| has_codes_within(value, levels)),
        _ => false,
    }
}

/// Whether a value is an object, or an array with objects or arrays.
fn holds_objects(value: &Value) -> bool {
    match value {
        Value::Object(_) => true,
        Value::Array(elements) => elements.iter().any(|element| element.is_object() || element.is_array()),
        _ => false,
    }
}

/// Collects the members of a record and its nested objects under their last names.
fn flatten(fields: &mut Vec<(String, String)>, members: &Map<String, Value>, levels: usize) {
    for (key, value) in members {
        match value {
            Value::Object(inner) => {
                if let Some(levels) = levels.checked_sub(1) {
                    flatten(fields, inner, levels);
                }
            }
            Value::Array(elements) if holds_objects(value) => {
                let texts: Vec<String> = elements.iter().map(|element| element_text(element, levels)).collect();
                fields.push((one_line(key), joined(&texts)));
            }
            _ => fields.push((one_line(key), texts_of(value))),
        }
    }
}

/// Formats an object in an array of a record as one line.
fn element_text(element: &Value, levels: usize) -> String {
    match (element, levels.checked_sub(1)) {
        (Value::Object(members), Some(levels)) => {
            let mut fields = Vec::new();
            flatten(&mut fields, members, levels);
            fields.truncate(MAX_COLUMNS);
            joined(&LabelledRecord { fields }.lines())
        }
        (Value::Object(_), None) => String::new(),
        _ => texts_of(element),
    }
}

/// Returns the text of a scalar or of an array of scalars.
fn texts_of(value: &Value) -> String {
    match value {
        Value::Array(elements) => joined(&elements.iter().filter_map(text_of).collect::<Vec<_>>()),
        other => text_of(other).unwrap_or_default(),
    }
}

fn is_scalar(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_))
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(inline_text(text)),
        other => scalar(other),
    }
}
