//! Recognises failures in texts by their first line and their length.

use super::evidence::{FailureEvidence, Finding};
use super::markup::markup_failure;
use super::text_rules::{TEXT_RULES, TextRuleInput};
use callwright_common::text::beginning_bytes;

/// Maximum number of bytes that are examined.
const MAX_BYTES: usize = 16 * 1024;

/// Maximum number of characters of a report in words; longer texts have other content.
const MAX_SENTENCE_CHARS: usize = 300;

/// Maximum number of bytes of the first line that are examined.
const MAX_LINE_BYTES: usize = 600;

/// Returns the rule that recognises a failure in a text.
pub(crate) fn text_failure(text: &str) -> Option<Finding> {
    let text = text.trim();
    if text.starts_with('<') {
        return markup_failure(text);
    }
    let input = rule_input(text)?;
    TEXT_RULES
        .iter()
        .find(|rule| (rule.evidence == FailureEvidence::Form || input.short) && (rule.holds)(&input))
        .map(|rule| (rule.name, rule.evidence))
}

fn rule_input(text: &str) -> Option<TextRuleInput<'_>> {
    let text = beginning_bytes(text, MAX_BYTES);
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    let line = beginning_bytes(line, MAX_LINE_BYTES);
    let line = line.trim_matches(|letter: char| letter.is_whitespace() || DECORATION.contains(&letter));
    // Truncated JSON is the beginning of a result and not a message.
    let short = !text.starts_with(['{', '['])
        && text.chars().nth(MAX_SENTENCE_CHARS).is_none()
        && !text.trim().contains("\n\n");
    (!line.is_empty()).then_some(TextRuleInput { text, line, short })
}

/// Decoration before or around a first line.
const DECORATION: [char; 14] = ['*', '_', '`', '❌', '✗', '✘', '⚠', '\u{fe0f}', '🚫', '⛔', '❗', '🔴', '>', '"'];
