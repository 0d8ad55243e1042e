//! Markers of notations and of reasoning, for texts that are still being received.

use super::entry::NotationEntry;
use crate::repair::rescue::markers::REASONING;

/// Meaning of a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::repair::rescue) enum HoldMarkKind {
    /// A call follows.
    Call,
    /// A call follows if a tool's name or a bracket does; else the marker is a common word.
    Maybe,
    /// Reasoning begins, and ends with the given marker.
    Reasoning(&'static str),
    /// The preceding text was reasoning.
    ReasoningEnd,
}

/// A set of bytes.
pub(in crate::repair::rescue) type Bytes = [bool; 256];

/// A marker for streamed texts.
#[derive(Debug)]
pub(in crate::repair::rescue) struct HoldMark {
    pub(in crate::repair::rescue) text: String,
    pub(in crate::repair::rescue) kind: HoldMarkKind,
    /// Whether the marker counts only at the start of a line.
    pub(in crate::repair::rescue) begins_line: bool,
}

/// The markers of a table of notations.
#[derive(Debug)]
pub(in crate::repair::rescue) struct HoldMarks {
    pub(in crate::repair::rescue) all: Vec<HoldMark>,
    /// First bytes of the markers that count at any position.
    anywhere: Bytes,
}

impl HoldMarks {
    /// Collects the markers of these notations, and those of reasoning.
    pub(super) fn new(entries: &[NotationEntry]) -> Self {
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
    pub(in crate::repair::rescue) fn first_bytes(&self) -> &Bytes {
        &self.anywhere
    }
}
