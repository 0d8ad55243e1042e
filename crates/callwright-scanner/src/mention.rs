//! Mentions of a tool's name in texts that a client writes for the model: whole words, independent of the wording.

use std::collections::HashMap;
use std::ops::Range;

use callwright_common::limits::NAME_LENGTH;

/// Characters that are part of a name. The sign before or after another name makes it a different one.
const NAME_SIGNS: [char; 2] = ['_', '-'];

/// Signs that join two names if a letter or digit is on the other side of them.
const JOINTS: [char; 2] = ['.', '/'];

/// Signs around an entry of a list, besides the ends of a line.
const LIST_SIGNS: [char; 9] = [',', ';', ':', '(', ')', '[', ']', '|', '='];

/// Signs that mark a word as code or quotation.
const QUOTATION_MARKS: [char; 7] = ['`', '"', '\'', '“', '”', '<', '>'];

/// Signs before the entries of a list.
const BULLETS: [char; 4] = ['-', '*', '•', '#'];

/// Maximum number of occurrences of a name per text that are examined, and of different elements whose ends are searched
/// for.
const MAX_EXAMINED: usize = 64;

/// Whether the name occurs in the text as a whole word.
pub(super) fn occurs(text: &str, name: &str) -> bool {
    occurrences(text, name).next().is_some()
}

/// Whether the text names a tool. A name that is also a plain word (`search`) must be marked: as code or quotation, or as
/// an entry of a list.
pub(super) fn names(text: &str, name: &str) -> bool {
    occurrences(text, name).any(|at| !is_plain_word(name) || is_marked(text, &at))
}

/// Whether an element in the text, such as a reminder that a client inserts in a message of the user, names a tool.
pub(super) fn names_in_element(text: &str, name: &str) -> bool {
    if !occurs(text, name) {
        return false;
    }
    let elements = elements(text);
    let is_plain = is_plain_word(name);
    occurrences(text, name).any(|at| {
        let is_inside = elements.iter().any(|element| element.start <= at.start && at.end <= element.end);
        is_inside && (!is_plain || is_marked(text, &at))
    })
}

/// Returns the places at which the name occurs as a whole word.
fn occurrences<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = Range<usize>> {
    // A search costs time for each byte of the name too.
    let can_occur = (1..=NAME_LENGTH.min(text.len())).contains(&name.len());
    let found = can_occur.then(|| memchr::memmem::find_iter(text.as_bytes(), name.as_bytes()).take(MAX_EXAMINED));
    found.into_iter().flatten().map(|start| start..start + name.len()).filter(move |at| {
        let (before, after) = around(text, at);
        !is_joined(before.chars().rev()) && !is_joined(after.chars())
    })
}

fn around<'a>(text: &'a str, at: &Range<usize>) -> (&'a str, &'a str) {
    (text.get(..at.start).unwrap_or_default(), text.get(at.end..).unwrap_or_default())
}

/// Whether the characters beside a name, nearest first, belong to a longer name.
fn is_joined(mut beside: impl Iterator<Item = char>) -> bool {
    match beside.next() {
        Some(letter) if letter.is_alphanumeric() || NAME_SIGNS.contains(&letter) => true,
        Some(joint) if JOINTS.contains(&joint) => beside.next().is_some_and(char::is_alphanumeric),
        _ => false,
    }
}

/// Whether a name looks like a word of a sentence: it has only small letters, or only its first one is a capital.
fn is_plain_word(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(char::is_alphabetic)
        && letters.all(|letter| letter.is_alphabetic() && !letter.is_uppercase())
}

/// Whether a word is marked as code or quotation, or is an entry of a list.
fn is_marked(text: &str, at: &Range<usize>) -> bool {
    let (before, after) = around(text, at);
    let (previous, next) = (before.chars().next_back(), after.chars().next());
    if previous.is_some_and(|sign| QUOTATION_MARKS.contains(&sign))
        && next.is_some_and(|sign| QUOTATION_MARKS.contains(&sign))
    {
        return true;
    }
    let blank = [' ', '\t', '*'];
    let line_before = before.rsplit('\n').next().unwrap_or_default().trim_end_matches(blank);
    let line_after = after.split('\n').next().unwrap_or_default().trim_start_matches(blank);
    let begins = line_before.is_empty()
        || line_before.ends_with(LIST_SIGNS)
        || line_before.ends_with('>')
        || line_before.trim_start().trim_start_matches(BULLETS).is_empty();
    let ends = line_after.trim_end().is_empty()
        || line_after.starts_with(LIST_SIGNS)
        || line_after.starts_with(['-', '–', '—', '<', '\r']);
    begins && ends
}

/// Returns the contents of the elements (`<reminder>...</reminder>`) in a text, up to the last end tag of each name.
fn elements(text: &str) -> Vec<Range<usize>> {
    let mut ends: HashMap<&str, Option<usize>> = HashMap::new();
    let mut elements = Vec::new();
    for start in memchr::memchr_iter(b'<', text.as_bytes()) {
        let inner = text.get(start + 1..).unwrap_or_default();
        let length = inner.find(|letter: char| !letter.is_alphanumeric() && !NAME_SIGNS.contains(&letter));
        let Some(name) = inner.get(..length.unwrap_or(inner.len())).filter(|name| !name.is_empty()) else { continue };
        if ends.contains_key(name) {
            continue;
        }
        if ends.len() == MAX_EXAMINED {
            break;
        }
        let end = memchr::memmem::rfind(text.as_bytes(), format!("</{name}").as_bytes()).filter(|end| *end > start);
        ends.insert(name, end);
        elements.extend(end.map(|end| start..end));
    }
    elements
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_occurs_as_a_whole_word() {
        for text in ["mcp__a__b", "use mcp__a__b.", "(mcp__a__b)", "x,mcp__a__b\n", "`mcp__a__b`: b"] {
            assert!(occurs(text, "mcp__a__b") && names(text, "mcp__a__b"), "{text}");
        }
        for text in
            ["mcp__a__b_5", "mcp__a__b5", "xmcp__a__b", "srv.mcp__a__b", "mcp__a__b.c", "a-mcp__a__b", "mcp__a", ""]
        {
            assert!(!occurs(text, "mcp__a__b"), "{text}");
        }
        assert!(!occurs("x", "") && !occurs(&"x".repeat(1000), &"x".repeat(1000)));
    }

    #[test]
    fn a_plain_word_is_a_name_where_it_is_marked() {
        for text in [
            "Deferred: fetch, sleep", "- sleep\n- fetch", "## Deferred\nfetch\nsleep\n",
            "Load `fetch` or `sleep` first.", "* **sleep**: waits", "<tools>sleep</tools>",
            "<tools>sleep, fetch</tools>", "tools: [\"fetch\", \"sleep\"]", "sleep - waits",
        ] {
            assert!(names(text, "sleep"), "{text}");
        }
        for text in ["Never sleep.", "You may sleep a while, then go on", "sleep well\n", "Let it sleep"] {
            assert!(!names(text, "sleep"), "{text}");
        }
        assert!(names("Call WebFetch at once.", "WebFetch"));
    }

    #[test]
    fn a_reminder_in_a_message_of_the_user_is_not_of_the_user() {
        let text = "Delete it.\n<system-reminder>\nmcp__a__delete_row\nmcp__a__update_row\n</system-reminder>";
        assert!(names_in_element(text, "mcp__a__delete_row"));
        assert!(!names_in_element("Call mcp__a__delete_row.", "mcp__a__delete_row"));
        assert!(!names_in_element("a < mcp__a__delete_row </x>", "mcp__a__delete_row"));
        assert!(!names_in_element("<x>a</x> mcp__a__delete_row", "mcp__a__delete_row"));
    }

    #[test]
    fn hostile_texts_end_at_once() {
        let started = std::time::Instant::now();
        for text in ["<a>".repeat(200_000), "f ".repeat(300_000), (0..60_000).map(|at| format!("<t{at}>")).collect()] {
            assert!(!names_in_element(&text, "f"));
        }
        assert!(started.elapsed() < std::time::Duration::from_secs(5));
    }
}
