//! Arguments of a call that arrive in pieces, also where each piece repeats all earlier ones.

use std::io::{self, BufReader, Read};

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use callwright_common::json::raw;

/// Arguments received so far.
///
/// Some servers send the arguments so far instead of their next piece. A JSON text that begins with itself cannot be
/// continued to a valid one except in nested values, so the complete text decides: the concatenation of all pieces
/// counts if it is valid JSON, else the last text if that is valid.
#[derive(Debug, Clone, Default)]
pub(crate) struct StreamedArguments {
    /// The arguments if a piece that begins with all earlier text replaces it.
    text: String,
    /// Progress of the JSON text.
    pub(super) extent: Extent,
    /// Length of the text before each such piece.
    repeats: Vec<usize>,
    /// Whether the text is that of a JSON value, which the API reference does not allow.
    is_value: bool,
}

impl StreamedArguments {
    /// Adds a piece. Returns false if that is not simply the next one: an empty object before or after the arguments is
    /// a placeholder.
    pub(crate) fn push(&mut self, piece: &str) -> bool {
        if self.text.is_empty() {
            self.text.push_str(piece);
            self.extent.push(piece);
            return true;
        }
        let mut is_regular = true;
        if self.extent == Extent::Complete && !piece.is_empty() {
            if is_empty_object(piece) {
                return false;
            }
            if is_empty_object(&self.text) && piece.trim_start().starts_with('{') {
                *self = Self::default();
                is_regular = false;
            }
        }
        let is_repetition =
            !self.text.is_empty() && piece.len() >= self.text.len() && piece.starts_with(self.text.as_str());
        let next = if is_repetition { piece.get(self.text.len()..).unwrap_or_default() } else { piece };
        if is_repetition {
            self.repeats.push(self.text.len());
        }
        self.text.push_str(next);
        self.extent.push(next);
        is_regular
    }

    /// Adds a piece of text that need not be JSON.
    pub(super) fn push_text(&mut self, piece: &str) {
        self.text.push_str(piece);
        self.extent.push(piece);
    }

    /// Replaces the arguments by a complete value.
    pub(crate) fn set_whole(&mut self, value: &str) {
        *self = Self { text: value.to_owned(), extent: Extent::Complete, repeats: Vec::new(), is_value: true };
    }

    /// Whether a piece began with all earlier text, and this one does, too.
    pub(super) fn is_repeated_by(&self, piece: &str) -> bool {
        !self.repeats.is_empty() && piece.starts_with(self.text.as_str())
    }

    /// Whether pieces replace earlier text.
    pub(crate) fn is_cumulative(&self) -> bool {
        !self.repeats.is_empty()
            && self.text.trim_start().starts_with('{')
            && !is_json(PieceReader { pieces: self.pieces(), piece: &[] })
            && is_json(self.text.as_bytes())
    }

    /// Removes the text. Its progress remains known.
    pub(super) fn take(&mut self) -> Self {
        let taken = std::mem::replace(self, Self { extent: self.extent, ..Self::default() });
        Self { is_value: false, ..taken }
    }

    /// Number of bytes kept.
    pub(crate) fn size(&self) -> usize {
        self.text.len() + self.repeats.len() * size_of::<usize>()
    }

    /// Returns the arguments as they came: a string, or the value that replaced it.
    pub(super) fn into_raw(self) -> Box<RawValue> {
        let is_value = self.is_value;
        let text = self.into_text();
        let value = if is_value { serde_json::from_str(&text).ok() } else { None };
        value.unwrap_or_else(|| raw(&text))
    }

    pub(crate) fn into_text(self) -> String {
        if self.repeats.is_empty() || self.is_cumulative() {
            return self.text;
        }
        self.pieces().collect()
    }

    /// Returns all pieces.
    fn pieces(&self) -> impl Iterator<Item = &str> {
        let ends = self.repeats.iter().copied().chain([self.text.len()]);
        ends.map(|end| self.text.get(..end).unwrap_or_default())
    }
}

/// Reads pieces one after the other. Their concatenation may be much longer than the last one.
struct PieceReader<'a, P> {
    pieces: P,
    /// Rest of the current piece.
    piece: &'a [u8],
}

impl<'a, P: Iterator<Item = &'a str>> Read for PieceReader<'a, P> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            let Some(next) = self.pieces.next() else { return Ok(0) };
            self.piece = next.as_bytes();
        }
        self.piece.read(buffer)
    }
}

/// Whether a text is valid JSON. It is read up to the first error.
fn is_json(text: impl Read) -> bool {
    serde_json::from_reader::<_, IgnoredAny>(BufReader::new(text)).is_ok()
}

fn is_empty_object(text: &str) -> bool {
    let inner = text.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    inner.is_some_and(|inner| inner.trim().is_empty())
}

/// State machine over brackets and strings. It processes bytes incrementally, so that each piece is scanned once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Extent {
    /// Only white space so far.
    #[default]
    Empty,
    /// Inside an object or array.
    Open {
        /// Number of open brackets.
        depth: usize,
        /// Inside a string, and whether the previous byte is an escaping backslash.
        string: Option<bool>,
    },
    /// A value that is neither an object nor an array; its end cannot be detected.
    Scalar,
    /// The object or array is closed.
    Complete,
}

impl Extent {
    /// Processes the next piece.
    pub(super) fn push(&mut self, piece: &str) {
        for byte in piece.bytes() {
            *self = self.after(byte);
        }
    }

    fn after(self, byte: u8) -> Self {
        match self {
            Self::Empty => match byte {
                b' ' | b'\t' | b'\n' | b'\r' => Self::Empty,
                b'{' | b'[' => Self::Open { depth: 1, string: None },
                _ => Self::Scalar,
            },
            Self::Open { depth, string: Some(escaped) } => {
                let string = if byte == b'"' && !escaped { None } else { Some(byte == b'\\' && !escaped) };
                Self::Open { depth, string }
            }
            Self::Open { depth, string: None } => match byte {
                b'"' => Self::Open { depth, string: Some(false) },
                b'{' | b'[' => Self::Open { depth: depth + 1, string: None },
                b'}' | b']' if depth == 1 => Self::Complete,
                b'}' | b']' => Self::Open { depth: depth - 1, string: None },
                _ => self,
            },
            Self::Scalar | Self::Complete => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(pieces: &[&str]) -> String {
        let mut arguments = StreamedArguments::default();
        for piece in pieces {
            arguments.push(piece);
        }
        arguments.into_text()
    }

    #[test]
    fn pieces_that_repeat_all_earlier_ones_replace_them() {
        for pieces in [
            &["{\"a\"", "{\"a\": \"x\"", "{\"a\": \"x\", \"b\": 3}"][..],
            &["{", "{\"a\": \"x\", \"b\": 3}", "{\"a\": \"x\", \"b\": 3}"],
            &["{\"a\": \"x\", ", "\"b\": 3}", "{\"a\": \"x\", \"b\": 3}"],
            &["{\"a\": \"x\", \"b\"", "", "{\"a\": \"x\", \"b\": 3}"],
            &["{}", "{\"a\": \"x\", ", "\"b\": 3}"],
            &["{ }", "{\"a\"", "{\"a\": \"x\", \"b\": 3}"],
            &["{\"a\": \"x\", \"b\": 3}", "{}"],
        ] {
            assert_eq!(joined(pieces), "{\"a\": \"x\", \"b\": 3}", "{pieces:?}");
        }
    }

    #[test]
    fn nested_values_and_self_prefixed_scalars_are_joined() {
        for (pieces, all) in [
            (&["{\"a\":[", "{\"a\":[1]}", "]}"][..], "{\"a\":[{\"a\":[1]}]}"),
            (&["[", "[", "[1]", "]]"], "[[[1]]]"),
            (&["1", "1", "12"], "1112"),
            (&[" ", " ", " {}"], "   {}"),
            (&["{\"a\": \"", "ha", "ha", "ha\"}"], "{\"a\": \"hahaha\"}"),
            // Cut off: nothing decides, so nothing is removed.
            (&["{\"a\":", "{\"a\":\"x"], "{\"a\":{\"a\":\"x"),
        ] {
            assert_eq!(joined(pieces), all, "{pieces:?}");
        }
    }
}

#[cfg(test)]
mod extent_tests {
    use super::*;

    fn extent(pieces: &[&str]) -> Extent {
        let mut extent = Extent::default();
        pieces.iter().for_each(|piece| extent.push(piece));
        extent
    }

    #[test]
    fn an_object_is_complete_when_its_own_bracket_closes() {
        assert_eq!(extent(&[" {\"a\": [1, {", "}], \"b\":\"}", "\\\"}", "\\\\\"", "}"]), Extent::Complete);
        assert!(matches!(extent(&["{\"a\":\"}\\", "\"}"]), Extent::Open { .. }));
        assert!(matches!(extent(&["{\"a\":{}"]), Extent::Open { depth: 1, string: None }));
        assert_eq!(extent(&[" ", "\n"]), Extent::Empty);
        assert_eq!(extent(&["nul", "l {}"]), Extent::Scalar);
        assert_eq!(extent(&["{}", "{"]), Extent::Complete);
    }
}
