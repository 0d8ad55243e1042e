//! Marks that may be left in a text beside a native call: openers and closers of notations, markers of reasoning, and
//! tokens of chat templates.

use std::sync::LazyLock;

use super::NOTATIONS;
use super::table::TEMPLATE_TOKENS;
use crate::repair::rescue::call_names::MAX_NAME;
use crate::repair::rescue::extent::TURN_ENDS;
use crate::repair::rescue::markers::{CHANNELS, REASONING};
use crate::repair::rescue::statement::SHELLS;
use crate::repair::rescue::tag::MAX_TAG;

/// Maximum number of brackets without a mark between marks, of runs and copies that are removed at the end of a text, and
/// of the beginnings of a run that are examined.
pub(crate) const MAX_ROUNDS: usize = 8;

/// A mark at the start of a text.
#[derive(Debug, Clone, Copy)]
enum Mark {
    /// A mark with this many bytes.
    Whole(usize),
    /// The whole text is the beginning of a mark.
    Cut,
}

/// Consecutive marks at the end of a text, with white space between them.
#[derive(Debug, Default)]
pub(crate) struct MarkRun {
    /// Positions of the marks, from right to left.
    pub(crate) starts: Vec<usize>,
    /// Position of the last mark if only its beginning is there.
    pub(crate) cut: Option<usize>,
}

/// Marks of all notations, as they are spelt. Marks that are words or code fences are no residue.
static MARKS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut listed: Vec<&str> = Vec::new();
    for notation in NOTATIONS.iter().filter(|notation| notation.is_reserved()) {
        listed.extend(notation.open.iter().chain(notation.close));
        listed.extend(notation.form.markers());
    }
    listed.extend(REASONING.iter().chain(&CHANNELS).flatten());
    listed.extend(TURN_ENDS);
    listed.extend(TEMPLATE_TOKENS);
    let mut marks: Vec<String> = Vec::new();
    for mark in listed.into_iter().filter(|mark| mark.starts_with(['<', '[', ']'])) {
        marks.extend(end_tag(mark));
        marks.push(mark.to_owned());
    }
    marks.extend(SHELLS.iter().flat_map(|name| [format!("<{name}>"), format!("</{name}>")]));
    marks.sort_unstable();
    marks.dedup();
    marks
});

/// Returns the longest mark at the start of `text`.
fn mark_at(text: &str) -> Option<Mark> {
    let (mut longest, mut is_cut) = (0, false);
    match token(text) {
        Some(Mark::Whole(length)) => longest = length,
        Some(Mark::Cut) => is_cut = true,
        None => {}
    }
    for mark in MARKS.iter() {
        match text.strip_prefix(mark.as_str()).map(|rest| (rest, behind_opener(mark, rest))) {
            None => is_cut |= mark.starts_with(text),
            Some((rest, Some(behind))) if behind == rest.len() && !rest.ends_with('>') => is_cut = true,
            Some((_, Some(behind))) => longest = longest.max(mark.len() + behind),
            Some((_, None)) if mark.ends_with('=') => {}
            Some((_, None)) => longest = longest.max(mark.len()),
        }
    }
    if longest < text.len() && is_cut {
        return Some(Mark::Cut);
    }
    (longest > 0).then_some(Mark::Whole(longest))
}

/// Returns the run of marks that extends to the end of `text`. `other` returns the length of another mark.
pub(crate) fn run(text: &str, other: impl Fn(&str) -> Option<usize>) -> MarkRun {
    let end = text.trim_end().len();
    let first = text.ceil_char_boundary(end.saturating_sub(MAX_TAG));
    let (mut from, mut misses, mut run) = (end, 0, MarkRun::default());
    for at in memchr::memchr3_iter(b'<', b'[', b']', text.as_bytes().get(..end).unwrap_or_default()).rev() {
        if at < first || misses > MAX_ROUNDS {
            break;
        }
        let rest = text.get(at..end).unwrap_or_default();
        let is_mark = match other(rest).map(Mark::Whole).or_else(|| mark_at(rest)) {
            Some(Mark::Whole(length)) => {
                run.cut = run.cut.filter(|cut| *cut >= at + length);
                text.get(at + length..from.max(at + length)).is_some_and(|between| between.trim().is_empty())
            }
            Some(Mark::Cut) => {
                run.cut = Some(at);
                true
            }
            None => false,
        };
        if is_mark {
            (from, misses) = (at, 0);
            run.starts.push(at);
        } else {
            misses += 1;
        }
    }
    run
}

/// Returns the position from which the end of a streamed text may be marks.
pub(crate) fn tail(text: &str) -> usize {
    run(text, |_| None).starts.last().copied().unwrap_or(text.len())
}

/// Returns the end tag of an opener that is a start tag: `</tool_call>` for `<tool_call>`.
fn end_tag(opener: &str) -> Option<String> {
    let inner = opener.strip_prefix('<')?;
    let name = inner.split(['>', '=', ' ']).next()?;
    let is_name = !name.is_empty() && !name.starts_with(['/', '|']) && !name.ends_with('|') && name.len() < inner.len();
    is_name.then(|| format!("</{name}>"))
}

/// Returns the number of bytes of the name and the attributes that follow an opener such as `<function=`, with the
/// closing bracket; all bytes if the text ends before it. `None` if the opener is a mark by itself, or if the text is
/// another one.
fn behind_opener(mark: &str, rest: &str) -> Option<usize> {
    if !mark.ends_with(['=', ' ']) {
        return None;
    }
    let end = rest.bytes().take(MAX_NAME).position(|byte| matches!(byte, b'<' | b'>' | b'\n'));
    match end.and_then(|end| rest.as_bytes().get(end).map(|byte| (end, *byte))) {
        Some((end, b'>')) => Some(end + 1),
        // A token follows the header.
        Some((end, b'<')) if mark.contains('|') => Some(end),
        None if rest.len() < MAX_NAME && !rest.bytes().any(is_no_name) => Some(rest.len()),
        _ => None,
    }
}

/// Whether a byte belongs to no name and no attribute.
fn is_no_name(byte: u8) -> bool {
    !(byte.is_ascii_alphanumeric() || b"_-.:/=\"'".contains(&byte))
}

/// Returns a token of any chat template: `<|name|>`.
fn token(text: &str) -> Option<Mark> {
    let (inner, bar) = match text.strip_prefix('<')?.chars().next() {
        None => return Some(Mark::Cut),
        Some(bar @ ('|' | '｜')) => (text.get(1 + bar.len_utf8()..)?, bar),
        Some(_) => return None,
    };
    let is_part = |letter: char| letter.is_alphanumeric() || "_▁:/.-".contains(letter);
    let name = inner.get(..inner.find(|letter| !is_part(letter)).unwrap_or(inner.len()))?;
    let behind = inner.get(name.len()..)?;
    if name.len() > MAX_NAME || name.is_empty() && !behind.is_empty() {
        return None;
    }
    match behind.strip_prefix(bar) {
        None if behind.is_empty() => Some(Mark::Cut),
        None => None,
        Some("") => Some(Mark::Cut),
        Some(end) => end.starts_with('>').then(|| Mark::Whole(text.len() - end.len() + 1)),
    }
}
