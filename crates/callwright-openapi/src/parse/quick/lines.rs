//! A text and its lines.

use memchr::{memchr, memchr2};

/// The beginning of the content of a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct ContentLine {
    /// Number of characters before the content.
    pub(super) indent: usize,
    /// Offset of the content.
    pub(super) at: usize,
}

/// A text whose characters are allowed in YAML.
#[derive(Clone, Copy)]
pub(super) struct YamlText<'t> {
    text: &'t str,
    bytes: &'t [u8],
}

impl<'t> YamlText<'t> {
    /// Returns `None` if the text has carriage returns, byte order marks or characters that YAML does not allow
    /// (YAML 1.2.2, section 5.1).
    pub(super) fn new(text: &'t str) -> Option<Self> {
        let bytes = text.as_bytes();
        let refused = bytes.iter().filter(|byte| **byte < b' ' && !matches!(byte, b'\n' | b'\t') || **byte == 0x7f);
        if refused.count() > 0 {
            return None;
        }
        let mut rest = bytes;
        while let Some(found) = memchr2(0xc2, 0xef, rest) {
            rest = rest.get(found..)?;
            if matches!(rest, [0xc2, 0x80..=0x9f, ..] | [0xef, 0xbf, 0xbe..=0xbf, ..] | [0xef, 0xbb, 0xbf, ..]) {
                return None;
            }
            rest = rest.get(1..)?;
        }
        Some(Self { text, bytes })
    }

    pub(super) fn byte(self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    pub(super) fn bytes_from(self, at: usize) -> &'t [u8] {
        self.bytes.get(at..).unwrap_or_default()
    }

    pub(super) fn slice(self, start: usize, end: usize) -> Option<&'t str> {
        self.text.get(start..end)
    }

    /// Returns the offset of the end of the line that contains `at`.
    pub(super) fn line_end(self, at: usize) -> usize {
        memchr(b'\n', self.bytes_from(at)).map_or(self.bytes.len(), |length| at + length)
    }

    pub(super) fn skip_spaces(self, at: usize) -> usize {
        at + self.bytes_from(at).iter().take_while(|byte| **byte == b' ').count()
    }

    /// Whether the dash of an item is at `at`.
    pub(super) fn is_dash(self, at: usize) -> bool {
        self.byte(at) == Some(b'-') && self.is_end_or_space(at + 1)
    }

    /// Whether the colon behind a key is at `at`.
    pub(super) fn is_colon(self, at: usize) -> bool {
        self.byte(at) == Some(b':') && self.is_end_or_space(at + 1)
    }

    fn is_end_or_space(self, at: usize) -> bool {
        matches!(self.byte(at), None | Some(b' ' | b'\n'))
    }

    /// Returns the end of the line of `at`, behind which there is nothing but spaces and a comment.
    pub(super) fn end_of_line(self, at: usize) -> Option<usize> {
        let end = self.skip_spaces(at);
        match self.byte(end) {
            None | Some(b'\n') => Some(end),
            Some(b'#') if self.byte(end.checked_sub(1)?) == Some(b' ') => Some(self.line_end(end)),
            Some(_) => None,
        }
    }

    /// Returns the first line with content, which may follow a marker. `None` as in [`Self::next_line`].
    pub(super) fn first(self) -> Option<Option<ContentLine>> {
        let mut start = 0;
        for line in self.text.split_inclusive('\n') {
            if line == "---\n" {
                return self.next_line(start + 3);
            }
            if !line.starts_with('#') {
                break;
            }
            start += line.len();
        }
        self.line_from(start)
    }

    /// Returns the next line with content behind the end of a line; `Some(None)` at the end of the text. `None` if a
    /// tab indents the line, or if it is a marker.
    pub(super) fn next_line(self, end: usize) -> Option<Option<ContentLine>> {
        self.line_from(end + 1)
    }

    fn line_from(self, mut start: usize) -> Option<Option<ContentLine>> {
        loop {
            let at = self.skip_spaces(start);
            match self.byte(at) {
                None => return Some(None),
                Some(b'\n') => start = at + 1,
                Some(b'#') => start = self.line_end(at) + 1,
                Some(b'\t') => return None,
                Some(_) if at == start && self.is_marker(at) => return None,
                Some(_) => return Some(Some(ContentLine { indent: at - start, at })),
            }
        }
    }

    fn is_marker(self, at: usize) -> bool {
        let line = self.bytes_from(at);
        line.starts_with(b"---") || line.starts_with(b"...")
    }

    /// Returns the next content of a scalar of several lines that is interrupted at the end of a line, with the number
    /// of empty lines before it; `Some(None)` if no line with more indentation than `parent` follows.
    pub(super) fn continuation(self, end: usize, parent: usize) -> Option<Option<(usize, usize)>> {
        let (mut start, mut empty) = (end + 1, 0);
        loop {
            let at = self.skip_spaces(start);
            match self.byte(at) {
                None => return Some(None),
                Some(b'\n') => (start, empty) = (at + 1, empty + 1),
                Some(b'\t') => return None,
                Some(_) if at - start <= parent => return Some(None),
                Some(_) => return Some(Some((at, empty))),
            }
        }
    }
}

/// Appends the line break of a folded scalar: a space, or as many breaks as there were empty lines.
pub(super) fn push_break(text: &mut String, empty: usize) {
    if empty == 0 {
        text.push(' ');
    }
    push_breaks(text, empty);
}

pub(super) fn push_breaks(text: &mut String, count: usize) {
    text.extend(std::iter::repeat_n('\n', count));
}
