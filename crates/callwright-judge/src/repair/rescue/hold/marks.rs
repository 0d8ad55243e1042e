//! Marks that are reserved for calls or for reasoning, while they are still coming.

use super::super::layout::REASONING;
use super::super::notations::{Entry, Notations};
use super::super::tag::{self, Coming};
use super::names::Names;

/// What a mark says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A call follows.
    Call,
    /// A call follows where a tool's name or a bracket does; else the mark is only a word.
    Maybe,
    /// The model begins to think, up to the mark that is given.
    Reasoning(&'static str),
    /// What came before was thought.
    ReasoningEnd,
}

/// What stands at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// No mark, whatever follows.
    Nothing,
    /// The beginning of a mark, maybe.
    Start,
    /// A mark of so many bytes.
    Mark(Kind, usize),
}

/// A set of bytes.
pub(super) type Bytes = [bool; 256];

#[derive(Debug)]
struct Mark {
    text: String,
    kind: Kind,
    /// Does it count at the start of a line alone?
    begins_line: bool,
}

/// The marks of a table of notations.
#[derive(Debug)]
pub(in crate::repair::rescue) struct Marks {
    all: Vec<Mark>,
    /// First bytes of marks that count anywhere.
    anywhere: Bytes,
}

impl Marks {
    /// The marks of these notations, and those of reasoning.
    pub(in crate::repair::rescue) fn new(entries: &[Entry]) -> Self {
        let mut all = Vec::new();
        for entry in entries {
            let kind = match (entry.is_reserved, entry.is_tentative) {
                (true, _) => Kind::Call,
                (false, false) => Kind::Maybe,
                // JSON is held as such.
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

    /// The bytes with which marks begin that count anywhere.
    pub(super) fn first_bytes(&self) -> &Bytes {
        &self.anywhere
    }
}

/// The tables that say whether a mark begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Table<'a> {
    pub(super) notations: &'a Notations,
    pub(super) names: &'a Names,
}

/// Looks at the beginning of `text`, which stands at the start of a line or not. Of marks for calls those that `is_quoted` are none.
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
        // A longer mark would be of the same kind.
        Some((mark, length)) => Found::Mark(mark.kind, length),
        None if may_come && !text.is_empty() => Found::Start,
        None if text.starts_with('<') && !is_quoted("<") => look_at_tag(text, table, at_line_start),
        None => Found::Nothing,
    }
}

/// Looks at a start tag, whose name alone shows that a call may begin.
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

/// Counts in `matched` how much of the mark that ends reasoning has come; true with its last byte.
pub(super) fn follow(byte: u8, close: &str, matched: &mut usize) -> bool {
    let close = close.as_bytes();
    // The first byte of these marks stands in them once.
    *matched = match (close.get(*matched) == Some(&byte), close.first() == Some(&byte)) {
        (true, _) => *matched + 1,
        (false, true) => 1,
        (false, false) => 0,
    };
    *matched == close.len()
}

/// Follows a text for the marks that end reasoning.
#[derive(Debug, Default)]
pub(super) struct ReasoningEnds {
    matched: [usize; REASONING.len()],
}

impl ReasoningEnds {
    /// Takes the next letter; has a mark ended with it?
    pub(super) fn push(&mut self, letter: char) -> bool {
        // No letter of these marks is beyond ASCII.
        let byte = u8::try_from(letter).unwrap_or(u8::MAX);
        let marks = self.matched.iter_mut().zip(REASONING);
        marks.fold(false, |ended, (matched, [_, close])| follow(byte, close, matched) | ended)
    }
}
