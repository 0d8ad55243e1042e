//! Small helpers for texts and lists.

use serde_json::Value;

use callwright_common::text::code_spans;

/// Whether `word` is one of `words`, which are separated by spaces.
pub(crate) fn is_among(words: &str, word: &str) -> bool {
    words.split(' ').any(|one| one == word)
}

/// Returns the items without duplicates, in order.
pub(crate) fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for item in items {
        if !found.contains(&item) {
            found.push(item);
        }
    }
    found
}

/// Returns the strings in an array.
pub(crate) fn strings(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// Maximum number of names that a message lists.
pub(crate) const SHOWN_NAMES: usize = 5;

/// Formats at most `limit` of `names` as a comma-separated list, each in backquotes, followed by the number of the
/// others.
pub(crate) fn listed<'n>(names: impl ExactSizeIterator<Item = &'n str>, limit: usize) -> String {
    let more = names.len().saturating_sub(limit);
    let list = code_spans(names.take(limit));
    if more > 0 { format!("{list} and {more} more") } else { list }
}

/// Shortens `text` to at most `chars` characters: cuts it after a sentence or a word and appends an ellipsis.
pub(crate) fn shorten(text: &str, chars: usize) -> String {
    let text = text.trim();
    let Some((end, _)) = text.char_indices().nth(chars) else { return text.to_owned() };
    let room = text.char_indices().nth(chars.saturating_sub(1)).map_or(end, |(end, _)| end);
    let head = text.get(..room).unwrap_or_default();
    // A sentence shorter than half of the available length would lose too much; the text is then cut after a word.
    let sentence = head.rfind(". ").filter(|at| at * 2 >= room).map(|at| at + 1);
    let word = sentence.or_else(|| head.rfind(char::is_whitespace).filter(|at| at * 2 >= room)).unwrap_or(room);
    format!("{}…", head.get(..word).unwrap_or_default().trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_after_sentences_or_words_within_the_limit() {
        assert_eq!(shorten(" short ", 10), "short");
        assert_eq!(shorten("One sentence. Another one", 20), "One sentence.…");
        assert_eq!(shorten("some words without end", 15), "some words…");
        assert_eq!(shorten("äöüäöüäöü", 4), "äöü…");
        for chars in 0..30 {
            assert!(shorten("Ein Satz. Noch einer, länger als der erste.", chars).chars().count() <= chars.max(1));
        }
    }
}
