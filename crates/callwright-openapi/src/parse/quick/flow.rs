//! Collections in flow style: `[a, b]`, `{a: 1}`.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::lines::YamlText;
use super::{MAX_DEPTH, plain, quoted};

/// Reads the collection at `at`, and returns it with the offset behind it. Its further lines have more indentation
/// than `parent`.
pub(super) fn read(text: YamlText<'_>, at: usize, parent: usize, depth: usize) -> Option<(Value, usize)> {
    FlowReader { text, parent }.collection(at, depth + 1)
}

#[derive(Clone, Copy)]
struct FlowReader<'t> {
    text: YamlText<'t>,
    parent: usize,
}

impl<'t> FlowReader<'t> {
    fn collection(self, at: usize, depth: usize) -> Option<(Value, usize)> {
        if depth > MAX_DEPTH {
            return None;
        }
        match self.text.byte(at)? {
            b'[' => self.sequence(at + 1, depth),
            _ => self.mapping(at + 1, depth),
        }
    }

    fn sequence(self, at: usize, depth: usize) -> Option<(Value, usize)> {
        let mut items = Vec::new();
        let mut at = self.skip(at)?;
        while self.text.byte(at)? != b']' {
            let (item, end) = self.value(at, depth)?;
            items.push(item);
            at = self.next(end, b']')?;
        }
        Some((Value::Array(items), at + 1))
    }

    fn mapping(self, at: usize, depth: usize) -> Option<(Value, usize)> {
        let mut object = Map::new();
        let mut at = self.skip(at)?;
        while self.text.byte(at)? != b'}' {
            let (key, end) = self.scalar(at, None)?;
            let is_usual = key.is_quoted || !plain::is_null(&key.text) && key.text != "<<";
            if !is_usual || !self.text.is_colon(end) {
                return None;
            }
            let (value, end) = self.value(self.skip(end + 1)?, depth)?;
            if object.insert(key.text.into_owned(), value).is_some() {
                return None;
            }
            at = self.next(end, b'}')?;
        }
        Some((Value::Object(object), at + 1))
    }

    fn value(self, at: usize, depth: usize) -> Option<(Value, usize)> {
        if matches!(self.text.byte(at)?, b'[' | b'{') {
            return self.collection(at, depth + 1);
        }
        let (scalar, end) = self.scalar(at, Some(self.parent))?;
        Some((if scalar.is_quoted { Value::String(scalar.text.into_owned()) } else { plain::value(scalar.text)? }, end))
    }

    /// Goes behind the comma, or to the closing bracket.
    fn next(self, at: usize, closing: u8) -> Option<usize> {
        let at = self.skip(at)?;
        match self.text.byte(at)? {
            b',' => self.skip(at + 1),
            byte => (byte == closing).then_some(at),
        }
    }

    /// Skips spaces and line breaks.
    fn skip(self, at: usize) -> Option<usize> {
        let at = self.text.skip_spaces(at);
        match self.text.byte(at)? {
            b'\n' => Some(self.text.continuation(at, self.parent)??.0),
            _ => Some(at),
        }
    }

    fn scalar(self, at: usize, parent: Option<usize>) -> Option<(FlowScalar<'t>, usize)> {
        if matches!(self.text.byte(at)?, b'"' | b'\'') {
            let (text, end) = quoted::read(self.text, at, parent)?;
            return Some((FlowScalar { text, is_quoted: true }, end));
        }
        if !plain::begins(self.text, at) {
            return None;
        }
        let mut end = at;
        loop {
            match self.text.byte(end)? {
                b',' | b']' | b'}' => break,
                b':' if self.text.is_colon(end) => break,
                b':' if matches!(self.text.byte(end + 1), Some(b',' | b'[' | b']' | b'{' | b'}')) => return None,
                b'[' | b'{' | b'\n' | b'\t' | b'#' => return None,
                _ => end += 1,
            }
        }
        Some((
            FlowScalar { text: Cow::Borrowed(self.text.slice(at, end)?.trim_end_matches(' ')), is_quoted: false },
            end,
        ))
    }
}

struct FlowScalar<'t> {
    text: Cow<'t, str>,
    is_quoted: bool,
}
