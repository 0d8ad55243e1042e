//! Recognises markers reserved for calls or for reasoning in a text that is still being received.

use super::super::layout::REASONING;
use super::super::notations::{Entry, Notations};
use super::super::tag::{self, Coming};
use super::names::Names;

/// Meaning of a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A call follows.
    Call,
    /// A call follows if a tool's name or a bracket does; else the marker is a common word.
    Maybe,
    /// Reasoning begins, and ends with the given marker.
    Reasoning(&'static str),
    /// The preceding text was reasoning.
    ReasoningEnd,
}

/// Result of a search for a marker at one position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// No marker, whatever follows.
    Nothing,
    /// Possibly the beginning of a marker.
    Start,
    /// A marker of this many bytes.
    Mark(Kind, usize),
}

/// A set of bytes.
pub(super) type Bytes = [bool; 256];

#[derive(Debug)]
struct Mark {
    text: String,
    kind: Kind,
    /// Whether the marker counts only at the start of a line.
    begins_line: bool,
}

/// The markers of a table of notations.
#[derive(Debug)]
pub(in crate::repair::rescue) struct Marks {
    all: Vec<Mark>,
    /// First bytes of the markers that count at any position.
    anywhere: Bytes,
}

impl Marks {
    /// Collects the markers of these notations, and those of reasoning.
    pub(in crate::repair::rescue) fn new(entries: &[Entry]) -> Self {
        let mut all = Vec::new();
        for entry in entries {
            let kind = match (entry.is_reserved, entry.is_tentative) {
                (true, _) => Kind::Call,
                (false, false) => Kind::Maybe,
                // JSON is held by its shape instead.
                (false, true) if entry.openers().any(|open| open.starts_with('{') && open.ends_with(':')) => continue,
                (false, true) => Kind::Call,
            };
            let begins_line = entry.begins_line;
            all.extend(entry.openers().map(|text| Mark { text: text.to_owned(), kind, begins_line }));
        }
        for [open, close] in REASONING {
            all.push(Mark { text: open.to_owned(), kind: Kind::Reasoning(close), begins_line: false });
            all.push(Mark { text: close.to_owned(), kind: Kind::ReasoningEnd, begins_line: false });
        }
        let mut anywhere = [false; 256];
        for first in all.iter().filter(|mark| !mark.begins_line).filter_map(|mark| mark.text.bytes().next()) {
            if let Some(flag) = anywhere.get_mut(usize::from(first)) {
                *flag = true;
            }
        }
        Self { all, anywhere }
    }

    /// Returns the first bytes of the markers that count at any position.
    pub(super) fn first_bytes(&self) -> &Bytes {
        &self.anywhere
    }
}

/// Tables that determine whether a marker begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Table<'a> {
    pub(super) notations: &'a Notations,
    pub(super) names: &'a Names,
}

/// Searches for a marker at the beginning of `text`. Markers for calls are ignored if `is_quoted` holds for them.
pub(super) fn look(text: &str, table: Table<'_>, at_line_start: bool, is_quoted: impl Fn(&str) -> bool) -> Found {
    let mut may_come = false;
    let mut found: Option<(&Mark, usize)> = None;
    for mark in table.notations.hold().all.iter().filter(|mark| at_line_start || !mark.begins_line) {
        if matches!(mark.kind, Kind::Call | Kind::Maybe) && is_quoted(&mark.text) {
            continue;
        }
        if text.starts_with(&mark.text) {
            found = found.filter(|(_, length)| *length > mark.text.len()).or(Some((mark, mark.text.len())));
        } else {
            may_come |= mark.text.starts_with(text);
        }
    }
    match found {
        // A longer marker would be of the same kind.
        Some((mark, length)) => Found::Mark(mark.kind, length),
        None if may_come && !text.is_empty() => Found::Start,
        None if text.starts_with('<') && !is_quoted("<") => look_at_tag(text, table, at_line_start),
        None => Found::Nothing,
    }
}

/// Examines a start tag, whose name alone may show that a call begins.
fn look_at_tag(text: &str, table: Table<'_>, at_line_start: bool) -> Found {
    let entry = |name: &str, kind| {
        let entry = table.notations.role(name, kind, |name| table.names.contain(name));
        entry.filter(|entry| at_line_start || !entry.begins_line)
    };
    match tag::coming(text, |name, kind| entry(name, kind).is_some()) {
        Coming::Other => Found::Nothing,
        Coming::Undecided => Found::Start,
        Coming::Whole => tag::start(text).map_or(Found::Nothing, |tag| Found::Mark(Kind::Call, tag.length)),
    }
}

/// Counts in `matched` the received bytes of the marker `close`, which ends reasoning. Returns whether the marker is
/// complete.
pub(super) fn follow(byte: u8, close: &str, matched: &mut usize) -> bool {
    let close = close.as_bytes();
    // The first byte of these markers occurs only once in them.
    *matched = match (close.get(*matched) == Some(&byte), close.first() == Some(&byte)) {
        (true, _) => *matched + 1,
        (false, true) => 1,
        (false, false) => 0,
    };
    *matched == close.len()
}

/// Searches a text for the markers that end reasoning.
#[derive(Debug, Default)]
pub(super) struct ReasoningEnds {
    matched: [usize; REASONING.len()],
}

impl ReasoningEnds {
    /// Adds the next character, and returns whether it completes a marker.
    pub(super) fn push(&mut self, letter: char) -> bool {
        // These markers contain only ASCII characters.
        let byte = u8::try_from(letter).unwrap_or(u8::MAX);
        let marks = self.matched.iter_mut().zip(REASONING);
        marks.fold(false, |ended, (matched, [_, close])| follow(byte, close, matched) | ended)
    }
}
