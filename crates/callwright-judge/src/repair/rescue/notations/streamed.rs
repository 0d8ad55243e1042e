//! Markers of notations and of reasoning, for texts that are still being received.

use std::sync::LazyLock;

use super::{MarkerStrength, NOTATIONS};
use crate::repair::rescue::markers::REASONING;

/// Meaning of a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HoldMarkKind {
    /// A call follows.
    Call,
    /// A call follows if a tool's name or a bracket does; else the marker is a common word.
    Maybe,
    /// Reasoning begins, and ends with the given marker.
    Reasoning(&'static str),
    /// The preceding text was reasoning.
    ReasoningEnd,
}

/// A marker for streamed texts.
#[derive(Debug)]
pub(crate) struct HoldMark {
    pub(crate) text: &'static str,
    pub(crate) kind: HoldMarkKind,
    /// Whether the marker counts only at the start of a line.
    pub(crate) begins_line: bool,
}

/// The markers of all notations, and those of reasoning.
pub(crate) static HOLD_MARKS: LazyLock<Vec<HoldMark>> = LazyLock::new(|| {
    let mut all = Vec::new();
    for notation in &NOTATIONS {
        let kind = match notation.strength {
            MarkerStrength::Reserved => HoldMarkKind::Call,
            MarkerStrength::Common => HoldMarkKind::Maybe,
            // JSON is held by its shape instead.
            MarkerStrength::Tentative if notation.openers().any(|open| open.ends_with(':')) => continue,
            MarkerStrength::Tentative => HoldMarkKind::Call,
        };
        let begins_line = notation.begins_line;
        all.extend(notation.openers().map(|text| HoldMark { text, kind, begins_line }));
    }
    for [open, close] in REASONING {
        all.push(HoldMark { text: open, kind: HoldMarkKind::Reasoning(close), begins_line: false });
        all.push(HoldMark { text: close, kind: HoldMarkKind::ReasoningEnd, begins_line: false });
    }
    all
});

/// First bytes of the markers that count at any position.
pub(crate) static FIRST_BYTES: LazyLock<[bool; 256]> = LazyLock::new(|| {
    let mut bytes = [false; 256];
    for first in HOLD_MARKS.iter().filter(|mark| !mark.begins_line).filter_map(|mark| mark.text.bytes().next()) {
        bytes[usize::from(first)] = true;
    }
    bytes
});
