//! Recognises markers reserved for calls or for reasoning in a text that is still being received.

use std::sync::LazyLock;

use super::super::markers::REASONING;
use super::super::notations::{self, NotationMark};
use super::super::tag;
use super::names::FoldedToolNames;

/// The markers of all notations and of reasoning. JSON is held by its shape instead.
static MARKS: LazyLock<Vec<(&str, NotationMark)>> = LazyLock::new(|| {
    let mut all = notations::own_marks();
    all.retain(|(_, mark)| !matches!(mark, NotationMark::Notation(notation) if notation.is_json()));
    all
});

/// First bytes of the markers that count at any position.
pub(super) static FIRST_BYTES: LazyLock<[bool; 256]> = LazyLock::new(|| {
    let mut bytes = [false; 256];
    for first in MARKS.iter().filter(|(_, mark)| !begins_line(*mark)).filter_map(|(text, _)| text.bytes().next()) {
        bytes[usize::from(first)] = true;
    }
    bytes
});

/// Whether a marker counts only at the start of a line.
fn begins_line(mark: NotationMark) -> bool {
    matches!(mark, NotationMark::Notation(notation) if notation.begins_line)
}

/// Result of a search for a marker at one position.
#[derive(Debug, Clone, Copy)]
pub(super) enum HoldMarkMatch {
    /// No marker, whatever follows.
    Nothing,
    /// Possibly the beginning of a marker.
    Start,
    /// A marker of this many bytes.
    Mark(NotationMark, usize),
}

/// Searches for a marker at the beginning of `text`. Markers for calls are ignored if `is_quoted` holds for them.
pub(super) fn look(
    text: &str,
    names: &FoldedToolNames,
    at_line_start: bool,
    is_quoted: impl Fn(&str) -> bool,
) -> HoldMarkMatch {
    let mut may_come = false;
    let mut found: Option<(NotationMark, usize)> = None;
    for (marker, mark) in MARKS.iter().filter(|(_, mark)| at_line_start || !begins_line(*mark)) {
        if matches!(mark, NotationMark::Notation(_)) && is_quoted(marker) {
            continue;
        }
        if text.starts_with(marker) {
            found = found.filter(|(_, length)| *length > marker.len()).or(Some((*mark, marker.len())));
        } else {
            may_come |= marker.starts_with(text);
        }
    }
    match found {
        // A longer marker would be of the same kind.
        Some((mark, length)) => HoldMarkMatch::Mark(mark, length),
        None if may_come && !text.is_empty() => HoldMarkMatch::Start,
        None if text.starts_with('<') && !is_quoted("<") => look_at_tag(text, names, at_line_start),
        None => HoldMarkMatch::Nothing,
    }
}

/// Examines a start tag, whose name alone may show that a call begins.
fn look_at_tag(text: &str, names: &FoldedToolNames, at_line_start: bool) -> HoldMarkMatch {
    let tag = tag::coming(text, |name, kind| {
        let notation = notations::of_name(name, kind, |name| names.contain(name));
        notation.is_some_and(|notation| at_line_start || !notation.begins_line)
    });
    match tag {
        None => HoldMarkMatch::Nothing,
        Some(None) => HoldMarkMatch::Start,
        Some(Some(tag)) => HoldMarkMatch::Mark(NotationMark::Tag, tag.length),
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
