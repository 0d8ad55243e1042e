//! Maps JSON Pointers to line numbers of a text.
//!
//! The lines are determined by a second pass over the text, only on demand. Most documents need no line numbers, and
//! storing one for every value would cost too much memory.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use granit_parser::{Event, Parser, ScalarStyle};

use super::parsed::{MAX_NESTING, Syntax};
use callwright_common::json::Pointer;

/// Line numbers of the values of a text.
#[derive(Debug, Default)]
pub(crate) struct LineIndex {
    /// Lines by a hash of the position. On a collision both positions get the later one's line, which is acceptable in
    /// a message.
    by_position: HashMap<u64, u32>,
}

/// A collection that is being parsed.
struct OpenCollection {
    position: u64,
    state: CollectionState,
}

enum CollectionState {
    /// Expects a key.
    Key,
    /// Expects the value of the member at this position; `None` if the key is not a scalar.
    Member(Option<u64>),
    /// Expects the item with this index.
    Item(usize),
    /// The contents have no position.
    Ignored,
}

impl LineIndex {
    /// Computes the lines of `text`, which has been parsed as `syntax`.
    pub(crate) fn new(text: &str, syntax: Syntax) -> Self {
        let mut reader = LineIndexer { lines: Self::default(), open: Vec::new() };
        match syntax {
            Syntax::Json => reader.json(text),
            Syntax::Yaml => reader.yaml(text),
        }
        reader.lines
    }

    /// Returns the line, counted from 1, of the value at `pointer`: the line of its key if it has one. If the value
    /// is not in the text itself (because it comes from an alias), returns the line of its nearest parent.
    pub(crate) fn line(&self, pointer: &Pointer) -> Option<usize> {
        let mut position = ROOT;
        let mut line = self.by_position.get(&position)?;
        for token in pointer.tokens() {
            position = child(position, &token);
            match self.by_position.get(&position) {
                Some(nearer) => line = nearer,
                None => break,
            }
        }
        usize::try_from(*line).ok()
    }
}

/// Position of the document's root.
const ROOT: u64 = 0;

fn child(position: u64, token: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (position, token).hash(&mut hasher);
    hasher.finish()
}

struct LineIndexer {
    lines: LineIndex,
    open: Vec<OpenCollection>,
}

impl LineIndexer {
    /// Processes the beginning of a value on `line`. `text` is its text if it is a scalar, which may be a key.
    /// Returns the value's position, if it has one.
    fn begin(&mut self, line: usize, text: Option<&str>) -> Option<u64> {
        let Some(within) = self.open.last_mut() else {
            self.note(ROOT, line);
            return Some(ROOT);
        };
        match within.state {
            CollectionState::Key => {
                let position = text.map(|text| child(within.position, text));
                within.state = CollectionState::Member(position);
                if let Some(position) = position {
                    self.note(position, line);
                }
                None
            }
            CollectionState::Member(position) => {
                within.state = CollectionState::Key;
                position
            }
            CollectionState::Item(index) => {
                within.state = CollectionState::Item(index + 1);
                let position = child(within.position, &index.to_string());
                self.note(position, line);
                Some(position)
            }
            CollectionState::Ignored => None,
        }
    }

    fn open(&mut self, line: usize, state: CollectionState) {
        let open = match self.begin(line, None) {
            Some(position) => OpenCollection { position, state },
            None => OpenCollection { position: ROOT, state: CollectionState::Ignored },
        };
        self.open.push(open);
    }

    fn note(&mut self, position: u64, line: usize) {
        self.lines.by_position.insert(position, u32::try_from(line).unwrap_or(u32::MAX));
    }

    fn yaml(&mut self, text: &str) {
        for event in Parser::new_from_str(text) {
            let Ok((event, span)) = event else { return };
            let line = span.start.line();
            match event {
                Event::Scalar(text, style, ..) => {
                    let is_null =
                        style == ScalarStyle::Plain && ["", "~", "null", "Null", "NULL"].contains(&text.as_ref());
                    self.begin(line, Some(if is_null { "null" } else { &text }));
                }
                Event::Alias(_) => {
                    self.begin(line, None);
                }
                Event::MappingStart(..) => self.open(line, CollectionState::Key),
                Event::SequenceStart(..) => self.open(line, CollectionState::Item(0)),
                Event::MappingEnd | Event::SequenceEnd => {
                    self.open.pop();
                }
                Event::DocumentEnd => return,
                _ => {}
            }
        }
    }

    /// Scans the text with minimal checks: it has already been parsed as JSON.
    fn json(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let (mut at, mut line) = (0, 1);
        while let Some(byte) = bytes.get(at) {
            let start = at;
            at += 1;
            match byte {
                b'\n' => line += 1,
                b'{' if self.open.len() <= MAX_NESTING => self.open(line, CollectionState::Key),
                b'[' if self.open.len() <= MAX_NESTING => self.open(line, CollectionState::Item(0)),
                b'}' | b']' => {
                    self.open.pop();
                }
                b'"' => {
                    at = end_of_string(bytes, at);
                    let literal = text.get(start..at).unwrap_or_default();
                    self.json_string(literal, line);
                }
                b' ' | b'\t' | b'\r' | b',' | b':' => {}
                _ => {
                    let rest = bytes.get(at..).unwrap_or_default().iter();
                    at += rest.take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)).count();
                    self.begin(line, None);
                }
            }
        }
    }

    fn json_string(&mut self, literal: &str, line: usize) {
        let is_key = self.open.last().is_some_and(|open| matches!(open.state, CollectionState::Key));
        if !is_key {
            self.begin(line, None);
        } else if literal.contains('\\') {
            let key: String = serde_json::from_str(literal).unwrap_or_default();
            self.begin(line, Some(&key));
        } else {
            self.begin(line, Some(literal.trim_matches('"')));
        }
    }
}

/// Returns the offset behind the JSON string whose opening quote precedes `at`; the length of `bytes` if the string
/// is not closed.
pub(crate) fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        at += if *byte == b'\\' { 2 } else { 1 };
        if *byte == b'"' {
            break;
        }
    }
    at.min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str, syntax: Syntax, pointer: &str) -> Option<usize> {
        LineIndex::new(text, syntax).line(&Pointer::from(pointer))
    }

    #[test]
    fn json_members_have_their_keys_line_and_items_their_start_line() {
        let text =
            "{\n \"a/b\": {\"x\":\n1},\n \"list\": [1, \"}\",\n  {\"k\\\"\\u0041\":\n [true]}],\n \"last\": null\n}";
        for (pointer, expected) in [
            ("", 1),
            ("/a~1b", 2),
            ("/a~1b/x", 2),
            ("/list", 4),
            ("/list/1", 4),
            ("/list/2", 5),
            ("/list/2/k\"A", 5),
            ("/list/2/k\"A/0", 6),
            ("/last", 7),
        ] {
            assert_eq!(line(text, Syntax::Json, pointer), Some(expected), "{pointer}");
        }
    }

    #[test]
    fn yaml_members_have_the_line_of_their_key() {
        let text = "# first\nopenapi: 3.0.0\npaths:\n  /a:\n    get:\n      responses:\n        200: {description: ok}\n  \
                    ? [no, key]\n  : {get: 1}\n  ~: 2\nlist:\n- a\n-\n  b: &x\n    c: 1\nuse:\n  <<: *x\n";
        for (pointer, expected) in [
            ("/openapi", 2),
            ("/paths", 3),
            ("/paths/~1a/get", 5),
            ("/paths/~1a/get/responses/200/description", 7),
            ("/paths/null", 10),
            ("/list/0", 12),
            ("/list/1/b/c", 15),
            ("/use", 16),
        ] {
            assert_eq!(line(text, Syntax::Yaml, pointer), Some(expected), "{pointer}");
        }
    }

    #[test]
    fn values_outside_the_text_have_the_line_of_the_nearest_parent() {
        assert_eq!(line("a: 1\nb:\n  c: 2\n", Syntax::Yaml, "/b/none/more"), Some(2));
        assert_eq!(line("", Syntax::Json, "/a"), None);
        assert_eq!(line("{\"a\": \"open", Syntax::Json, "/a/b"), Some(1));
    }
}
