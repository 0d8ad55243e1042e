//! State of the current line, as far as it was forwarded.

use super::super::statement::{MAX_LABEL, is_target};

#[derive(Debug, Default)]
pub(super) struct StreamedLine {
    head: String,
    /// Whether the line contains a character that is not white space.
    pub(super) has_text: bool,
    /// Whether the line began as a quotation.
    pub(super) is_quoted: bool,
    /// Whether the line opens or closes a code fence.
    pub(super) is_fence: bool,
    /// Whether the position is within a code span.
    in_code: bool,
    /// The last character that is not emphasis or white space.
    last: Option<char>,
    /// The previous character, if a statement may begin after it.
    pub(super) sign: Option<char>,
    /// Whether a statement may begin here.
    pub(super) is_place: bool,
}

impl StreamedLine {
    /// Adds a part of the line, and returns its length.
    pub(super) fn take(&mut self, part: &str) -> usize {
        self.has_text |= !part.trim_start().is_empty();
        self.in_code ^= memchr::memchr_iter(b'`', part.as_bytes()).count() % 2 == 1;
        if let Some(last) = part.trim_end_matches(['*', '`', ' ', '\t', '\r']).chars().next_back() {
            self.last = Some(last);
        }
        let room = part.floor_char_boundary(MAX_LABEL.saturating_sub(self.head.len()));
        self.head.push_str(part.get(..room).unwrap_or_default());
        part.len()
    }

    /// Adds one character, and returns its length.
    pub(super) fn take_letter(&mut self, letter: char) -> usize {
        self.take(letter.encode_utf8(&mut [0; 4]))
    }

    /// Begins the next line.
    pub(super) fn end(&mut self) {
        *self = Self::default();
    }

    /// Whether a marker at this position is only quoted.
    pub(super) fn quotes(&self, mark: &str) -> bool {
        (self.is_quoted && !mark.starts_with('>')) || (self.in_code && !mark.starts_with('`'))
    }

    /// Whether the line is prose that does not announce a call.
    pub(super) fn is_prose(&self) -> bool {
        self.has_text && !self.is_fence && !self.last.is_some_and(|last| matches!(last, ':' | '：'))
    }

    /// Whether a colon at this position may end a label.
    pub(super) fn may_be_label(&self) -> bool {
        self.head.len() < MAX_LABEL && !self.head.contains(['(', '[', '{'])
    }

    /// Whether an equals sign at this position may follow the target of an assignment.
    pub(super) fn may_be_target(&self) -> bool {
        is_target(&self.head)
    }
}
