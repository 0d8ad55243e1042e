//! Reads the part of YAML that generators write, several times faster than the general parser: block mappings and
//! sequences, scalars of all styles, and collections in flow style.
//!
//! Whatever else a text contains (anchors, tags, merge keys, duplicate keys, tabs that indent, errors), the general
//! parser reads the whole text. Where this reader returns a value, it is the one that the general parser returns; the
//! tests compare them.

mod lines;
mod scalar;

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::parsed::MAX_NESTING;

use lines::{ContentLine, YamlText};

/// Maximum nesting; deeper texts are left to the general parser.
const MAX_DEPTH: usize = MAX_NESTING / 2;

/// Returns the value of `text`, or `None` if it contains more than this reader knows.
pub(super) fn read(text: &str) -> Option<Value> {
    let text = YamlText::new(text)?;
    let mut reader = QuickReader { line: text.first()?, text };
    let line = reader.line?;
    let first = reader.key(line.at)??;
    let value = reader.mapping(line.indent, first, 0)?;
    reader.line.is_none().then_some(value)
}

/// A key and the offset behind its colon.
type Key<'t> = (Cow<'t, str>, usize);

/// Reader at the beginning of a line with content, or of an item behind its dash. Its methods return `None` if the
/// text contains more than they know.
struct QuickReader<'t> {
    text: YamlText<'t>,
    /// The line to read next; `None` at the end of the text.
    line: Option<ContentLine>,
}

impl<'t> QuickReader<'t> {
    /// Reads the node at the current line, which belongs to a collection with the indentation `parent`.
    fn node(&mut self, parent: usize, depth: usize) -> Option<Value> {
        let line = self.line?;
        if depth > MAX_DEPTH {
            return None;
        }
        if self.text.is_dash(line.at) {
            return self.sequence(line.indent, depth);
        }
        match self.key(line.at)? {
            Some(first) => self.mapping(line.indent, first, depth),
            None => self.scalar(line.at, parent, depth),
        }
    }

    /// Reads the members of a mapping whose first key has been read.
    fn mapping(&mut self, indent: usize, first: Key<'t>, depth: usize) -> Option<Value> {
        let mut object = Map::new();
        let mut key = first;
        loop {
            let (name, at) = key;
            let at = self.text.skip_spaces(at);
            let value = match self.text.byte(at) {
                None | Some(b'\n' | b'#') => {
                    self.end_line(at)?;
                    self.below(indent, true, depth)?
                }
                Some(_) => self.scalar(at, indent, depth)?,
            };
            if object.insert(name.into_owned(), value).is_some() {
                return None;
            }
            match self.line {
                Some(line) if line.indent == indent => key = self.key(line.at)??,
                Some(line) if line.indent > indent => return None,
                _ => return Some(Value::Object(object)),
            }
        }
    }

    /// Reads the items of a sequence; the current line begins with the first dash.
    fn sequence(&mut self, indent: usize, depth: usize) -> Option<Value> {
        let mut items = Vec::new();
        loop {
            let dash = self.line?.at;
            let at = self.text.skip_spaces(dash + 1);
            items.push(match self.text.byte(at) {
                None | Some(b'\n' | b'#') => {
                    self.end_line(at)?;
                    self.below(indent, false, depth)?
                }
                Some(_) => {
                    self.line = Some(ContentLine { indent: indent + (at - dash), at });
                    self.node(indent, depth + 1)?
                }
            });
            match self.line {
                Some(line) if line.indent == indent && self.text.is_dash(line.at) => {}
                Some(line) if line.indent > indent => return None,
                _ => return Some(Value::Array(items)),
            }
        }
    }

    /// Reads the node below a key or a dash with nothing behind it. The dashes below a key may have its indentation.
    fn below(&mut self, indent: usize, is_member: bool, depth: usize) -> Option<Value> {
        match self.line {
            Some(line) if line.indent > indent => self.node(indent, depth + 1),
            Some(line) if is_member && line.indent == indent && self.text.is_dash(line.at) => {
                self.sequence(indent, depth + 1)
            }
            _ => Some(Value::Null),
        }
    }

    /// Reads a key; `Some(None)` if the line at `at` begins with another node.
    fn key(&self, at: usize) -> Option<Option<Key<'t>>> {
        let (name, end) = match self.text.byte(at)? {
            b'"' | b'\'' => match scalar::quoted(self.text, at, None) {
                Some(quoted) => quoted,
                None => return Some(None),
            },
            b'[' | b'{' | b'|' | b'>' => return Some(None),
            _ => match scalar::plain_key(self.text, at)? {
                Some(key) => return Some(Some(key)),
                None => return Some(None),
            },
        };
        let colon = self.text.skip_spaces(end);
        Some(self.text.is_colon(colon).then_some((name, colon + 1)))
    }

    /// Goes to the next line with content; between `at` and the end of the line there may be a comment only.
    fn end_line(&mut self, at: usize) -> Option<()> {
        self.line = self.text.next_line(self.text.end_of_line(at)?)?;
        Some(())
    }
}

#[cfg(test)]
mod tests;
