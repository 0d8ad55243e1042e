//! Is a text the report of a failure? The rules look at its first line, and at how long it is.

use super::Grounds;
use super::body::Finding;
use super::markup::markup_failure;
use super::text_rules::TEXT_RULES;

/// Bytes of a text that are looked at.
const MAX_BYTES: usize = 16 * 1024;

/// Characters of a report in words: who says more tells of something.
const MAX_SENTENCE_CHARS: usize = 300;

/// Bytes of the first line that are looked at.
const MAX_LINE_BYTES: usize = 600;

/// A text as the rules see it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said<'a> {
    /// Its beginning, without space around.
    pub(super) text: &'a str,
    /// Its first line, without what only decorates it.
    pub(super) line: &'a str,
    /// Is it short enough to be nothing but a report: one paragraph?
    pub(super) short: bool,
}

/// Finds the rule by which a text reports a failure.
pub(super) fn text_failure(text: &str) -> Option<Finding> {
    let text = text.trim();
    if text.starts_with('<') {
        return markup_failure(text);
    }
    let said = said(text)?;
    TEXT_RULES
        .iter()
        .find(|rule| (rule.grounds == Grounds::Form || said.short) && (rule.holds)(&said))
        .map(|rule| (rule.name, rule.grounds))
}

fn said(text: &str) -> Option<Said<'_>> {
    let text = text.get(..text.floor_char_boundary(MAX_BYTES))?;
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    let line = line.get(..line.floor_char_boundary(MAX_LINE_BYTES))?;
    let line = line.trim_matches(|letter: char| letter.is_whitespace() || DECORATION.contains(&letter));
    // JSON that was cut is the beginning of a result, and its words are not said to anybody.
    let short = !text.starts_with(['{', '['])
        && text.chars().nth(MAX_SENTENCE_CHARS).is_none()
        && !text.trim().contains("\n\n");
    (!line.is_empty()).then_some(Said { text, line, short })
}

/// What stands before or around a first line to be seen.
const DECORATION: [char; 14] = ['*', '_', '`', '❌', '✗', '✘', '⚠', '\u{fe0f}', '🚫', '⛔', '❗', '🔴', '>', '"'];
