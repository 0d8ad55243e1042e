//! Shortening of text at line breaks.

use memchr::memchr_iter;

/// Number of characters reserved for the note about the cut.
const NOTE_CHARS: usize = 90;

/// Note for a response that the proxy did not read or receive completely.
const BROKEN_OFF: &str = "(the answer is longer than the proxy reads, or broke off; the rest is missing)";

/// Returns at most `limit` characters: complete lines if they fill at least half of it, else the beginning of a line. A
/// note at the end states how much is left out. `broke_off` marks `text` as incomplete.
pub(super) fn shortened(text: &str, limit: usize, broke_off: bool) -> String {
    let room = limit.saturating_sub(if broke_off { NOTE_CHARS + BROKEN_OFF.len() } else { NOTE_CHARS });
    let whole = if broke_off { limit.saturating_sub(BROKEN_OFF.len() + 1) } else { limit };
    let mut shown = if fits(text, whole) { text.to_owned() } else { cut(text, room) };
    if broke_off {
        shown.push('\n');
        shown.push_str(BROKEN_OFF);
    }
    shown
}

/// Whether a text has at most `limit` characters.
pub(super) fn fits(text: &str, limit: usize) -> bool {
    text.len() <= limit || text.char_indices().nth(limit).is_none()
}

fn cut(text: &str, room: usize) -> String {
    let end = text.char_indices().nth(room).map_or(text.len(), |(end, _)| end);
    let begun = text.get(..end).unwrap_or_default();
    match begun.rfind('\n').filter(|line_end| *line_end >= end / 2) {
        Some(line_end) => {
            let lines = begun.get(..line_end).unwrap_or_default();
            format!("{lines}\n(shortened: the first {} of {} lines are shown)", count(lines), count(text.trim_end()))
        }
        None => format!("{begun}\n(shortened: the first {} of {} bytes are shown)", begun.len(), text.len()),
    }
}

fn count(text: &str) -> usize {
    memchr_iter(b'\n', text.as_bytes()).count() + 1
}
