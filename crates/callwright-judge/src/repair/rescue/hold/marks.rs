//! Recognises markers reserved for calls or for reasoning in a text that is still being received.

use super::super::markers::REASONING;
use super::super::notations;
use super::super::notations::streamed::{HOLD_MARKS, HoldMark, HoldMarkKind};
use super::super::tag::{self, TagBeginning};
use super::names::FoldedToolNames;

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

/// Searches for a marker at the beginning of `text`. Markers for calls are ignored if `is_quoted` holds for them.
pub(super) fn look(
    text: &str,
    names: &FoldedToolNames,
    at_line_start: bool,
    is_quoted: impl Fn(&str) -> bool,
) -> HoldMarkMatch {
    let mut may_come = false;
    let mut found: Option<(&HoldMark, usize)> = None;
    for mark in HOLD_MARKS.iter().filter(|mark| at_line_start || !mark.begins_line) {
        if matches!(mark.kind, HoldMarkKind::Call | HoldMarkKind::Maybe) && is_quoted(mark.text) {
            continue;
        }
        if text.starts_with(mark.text) {
            found = found.filter(|(_, length)| *length > mark.text.len()).or(Some((mark, mark.text.len())));
        } else {
            may_come |= mark.text.starts_with(text);
        }
    }
    match found {
        // A longer marker would be of the same kind.
        Some((mark, length)) => HoldMarkMatch::Mark(mark.kind, length),
        None if may_come && !text.is_empty() => HoldMarkMatch::Start,
        None if text.starts_with('<') && !is_quoted("<") => look_at_tag(text, names, at_line_start),
        None => HoldMarkMatch::Nothing,
    }
}

/// Examines a start tag, whose name alone may show that a call begins.
fn look_at_tag(text: &str, names: &FoldedToolNames, at_line_start: bool) -> HoldMarkMatch {
    let state = tag::coming(text, |name, kind| {
        let notation = notations::of_name(name, kind, |name| names.contain(name));
        notation.is_some_and(|notation| at_line_start || !notation.begins_line)
    });
    match state {
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
