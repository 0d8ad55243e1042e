//! Text, cut between lines.

use memchr::memchr_iter;

/// Characters that are kept free for what is said about the cut.
const NOTE_CHARS: usize = 90;

/// What is said where the proxy has not read, or not got, all of an answer.
const BROKEN_OFF: &str = "(the answer is longer than the proxy reads, or broke off; the rest is missing)";

/// At most `limit` characters: whole lines as long as they fill at least half of that, else the beginning of a line. What is left out is
/// said at the end; `broke_off` says that there is more than `text`.
pub(super) fn shortened(text: &str, limit: usize, broke_off: bool) -> String {
    let room = limit.saturating_sub(if broke_off { NOTE_CHARS + BROKEN_OFF.len() } else { NOTE_CHARS });
    let whole = if broke_off { limit.saturating_sub(BROKEN_OFF.len() + 1) } else { limit };
    let mut shown = if super::fits(text, whole) { text.to_owned() } else { cut(text, room) };
    if broke_off {
        shown.push('\n');
        shown.push_str(BROKEN_OFF);
    }
    shown
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
