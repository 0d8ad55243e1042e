//! Recognises markers reserved for calls or for reasoning in a text that is still being received.

use super::super::layout::REASONING;
use super::super::notations::{NotationEntry, Notations};
use super::super::tag::{self, TagBeginning};
use super::names::FoldedToolNames;

/// Meaning of a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HoldMarkKind {
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
pub(super) enum HoldMarkMatch {
    /// No marker, whatever follows.
    Nothing,
    /// Possibly the beginning of a marker.
    Start,
    /// A marker of this many bytes.
    Mark(HoldMarkKind, usize),
}

/// A set of bytes.
pub(super) type Bytes = [bool; 256];

#[derive(Debug)]
struct HoldMark {
    text: String,
    kind: HoldMarkKind,
    /// Whether the marker counts only at the start of a line.
    begins_line: bool,
}

/// The markers of a table of notations.
#[derive(Debug)]
pub(in crate::repair::rescue) struct HoldMarks {
    all: Vec<HoldMark>,
    /// First bytes of the markers that count at any position.
    anywhere: Bytes,
}

impl HoldMarks {
    /// Collects the markers of these notations, and those of reasoning.
    pub(in crate::repair::rescue) fn new(entries: &[NotationEntry]) -> Self {
        let mut all = Vec::new();
        for entry in entries {
            let kind = match (entry.is_reserved, entry.is_tentative) {
                (true, _) => HoldMarkKind::Call,
                (false, false) => HoldMarkKind::Maybe,
                // JSON is held by its shape instead.
                (false, true) if entry.openers().any(|open| open.starts_with('{') && open.ends_with(':')) => continue,
                (false, true) => HoldMarkKind::Call,
            };
            let begins_line = entry.begins_line;
            all.extend(entry.openers().map(|text| HoldMark { text: text.to_owned(), kind, begins_line }));
        }
        for [open, close] in REASONING {
            all.push(HoldMark { text: open.to_owned(), kind: HoldMarkKind::Reasoning(close), begins_line: false });
            all.push(HoldMark { text: close.to_owned(), kind: HoldMarkKind::ReasoningEnd, begins_line: false });
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
pub(super) struct HoldMarkTable<'a> {
    pub(super) notations: &'a Notations,
    pub(super) names: &'a FoldedToolNames,
}

/// Searches for a marker at the beginning of `text`. Markers for calls are ignored if `is_quoted` holds for them.
pub(super) fn look(
    text: &str,
    table: HoldMarkTable<'_>,
    at_line_start: bool,
    is_quoted: impl Fn(&str) -> bool,
) -> HoldMarkMatch {
    let mut may_come = false;
    let mut found: Option<(&HoldMark, usize)> = None;
    for mark in table.notations.hold().all.iter().filter(|mark| at_line_start || !mark.begins_line) {
        if matches!(mark.kind, HoldMarkKind::Call | HoldMarkKind::Maybe) && is_quoted(&mark.text) {
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
        Some((mark, length)) => HoldMarkMatch::Mark(mark.kind, length),
        None if may_come && !text.is_empty() => HoldMarkMatch::Start,
        None if text.starts_with('<') && !is_quoted("<") => look_at_tag(text, table, at_line_start),
        None => HoldMarkMatch::Nothing,
    }
}

/// Examines a start tag, whose name alone may show that a call begins.
fn look_at_tag(text: &str, table: HoldMarkTable<'_>, at_line_start: bool) -> HoldMarkMatch {
    let entry = |name: &str, kind| {
        let entry = table.notations.role(name, kind, |name| table.names.contain(name));
        entry.filter(|entry| at_line_start || !entry.begins_line)
    };
    match tag::coming(text, |name, kind| entry(name, kind).is_some()) {
        TagBeginning::Other => HoldMarkMatch::Nothing,
        TagBeginning::Undecided => HoldMarkMatch::Start,
        TagBeginning::Whole => {
            tag::start(text).map_or(HoldMarkMatch::Nothing, |tag| HoldMarkMatch::Mark(HoldMarkKind::Call, tag.length))
        }
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
