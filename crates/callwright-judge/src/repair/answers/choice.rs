//! Reads which of several lettered options an answer names.

use serde_json::Value;

use callwright_common::text::beginning_bytes;

use super::{AnswerShape, MAX_WRAPPERS, after_reasoning, read_value};

/// Maximum number of bytes of an answer that are read; a choice is short.
const MAX_BYTES: usize = 16 * 1024;

/// Letter in a text, as a word of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OptionLetter {
    index: usize,
    /// Whether the letter cannot be a word: it is marked, or ends a clause.
    is_certain: bool,
    /// Whether the letter begins the answer.
    is_first: bool,
}

/// Returns the position of the option that an answer names: by its letter (`B`, `(b)`, `I choose the option B.`), by
/// its name, or as the only value of a JSON object. Options have the letters from A. Returns `None` if the answer names
/// no option, or several without a decision.
pub fn read_choice(answer: &str, names: &[&str]) -> Option<usize> {
    read(after_reasoning(beginning_bytes(answer, MAX_BYTES)), names, MAX_WRAPPERS)
}

fn read(text: &str, names: &[&str], wrappers: usize) -> Option<usize> {
    if let Some(inner) = wrappers.checked_sub(1).and_then(|_| json_choice(text)) {
        return read(&inner, names, wrappers - 1);
    }
    let text = text.trim();
    let bare = text.trim_matches(|letter: char| !letter.is_alphanumeric());
    if let Some(index) = letter_index(bare, names.len()) {
        return Some(index);
    }
    let letters = letters(text, names.len());
    let first = letters.iter().find(|letter| letter.is_first && letter.is_certain).map(|letter| letter.index);
    let named = named(text, names);
    match (first.or_else(|| decided(&letters)), named.as_slice()) {
        (Some(index), named) if named.is_empty() || named.contains(&index) => Some(index),
        (None, [index]) if letters.iter().all(|letter| letter.index == *index) => Some(*index),
        _ => last_line(text).and_then(|line| read(line, names, 0)),
    }
}

/// Returns the option whose letter is certain, or the only one, and occurs more often than any other.
fn decided(letters: &[OptionLetter]) -> Option<usize> {
    let certain = distinct(letters.iter().filter(|letter| letter.is_certain).map(|letter| letter.index));
    let all = distinct(letters.iter().map(|letter| letter.index));
    let index = match (certain.as_slice(), all.as_slice()) {
        ([index], _) | ([], [index]) => *index,
        _ => return None,
    };
    let most = occurrences(letters, index);
    all.iter().all(|other| *other == index || occurrences(letters, *other) < most).then_some(index)
}

fn occurrences(letters: &[OptionLetter], index: usize) -> usize {
    letters.iter().filter(|letter| letter.index == index).count()
}

/// Returns the last text of a JSON object, or the text of a JSON string.
fn json_choice(text: &str) -> Option<String> {
    let last_text = |value: Value| {
        let texts = value.as_object().into_iter().flat_map(|members| members.values().filter_map(Value::as_str));
        texts.last().map(str::to_owned).ok_or_else(String::new)
    };
    if let Ok(chosen) = read_value(text, AnswerShape::Object, last_text) {
        return Some(chosen);
    }
    let fenced = text.trim_matches(|letter: char| letter.is_whitespace() || letter == '`');
    let start = fenced.find('"')?;
    // A language label may precede the value.
    fenced.get(..start)?.chars().all(|letter| letter.is_alphanumeric() || letter.is_whitespace()).then_some(())?;
    serde_json::from_str(fenced.get(start..)?).ok()
}

/// Returns the last line, if there is another one before it.
fn last_line(text: &str) -> Option<&str> {
    text.rsplit_once('\n').map(|(_, line)| line.trim()).filter(|line| !line.is_empty())
}

fn letter_index(text: &str, count: usize) -> Option<usize> {
    let mut letters = text.chars();
    let (Some(only), None) = (letters.next(), letters.next()) else { return None };
    let upper = u8::try_from(only.to_ascii_uppercase()).ok().filter(u8::is_ascii_uppercase)?;
    Some(usize::from(upper - b'A')).filter(|index| *index < count)
}

/// Returns the upper-case letters of options that are words of their own.
fn letters(text: &str, count: usize) -> Vec<OptionLetter> {
    let mut found = Vec::new();
    for (at, letter) in text.char_indices().filter(|(_, letter)| letter.is_ascii_uppercase()) {
        let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at + 1..).unwrap_or_default());
        let is_alone = !before.ends_with(is_word_sign) && !after.starts_with(is_word_sign);
        let Some(index) = letter_index(&letter.to_string(), count).filter(|_| is_alone) else { continue };
        let is_marked = before.ends_with(['(', '[', '"', '\'', '*', '`', '_', '“', '‘', '«', '「', ':']);
        let ends_clause = after.trim_start_matches(['*', '`', '"', ')', ']']).chars().next();
        let ends_clause = ends_clause.is_none_or(|next| !next.is_whitespace());
        // At the end of a line no other word follows.
        let ends_line = after.trim_start_matches([' ', '\t']).starts_with(['\n', '\r']);
        let is_first = !before.contains(char::is_alphanumeric);
        let is_certain = is_marked || ends_clause || ends_line;
        if is_certain || !is_word(index, before, after) {
            found.push(OptionLetter { index, is_certain, is_first });
        }
    }
    found
}

/// Whether a letter is more likely a word: the English pronoun, or an article at the start of a sentence. Of two letters
/// with one word between them (`A or B`), the first is no article.
fn is_word(index: usize, before: &str, after: &str) -> bool {
    let is_start = before.trim_end().chars().next_back().is_none_or(|sign| ".!?:\n".contains(sign));
    let other = after.split_whitespace().nth(1).unwrap_or_default();
    let other = other.trim_matches(|sign: char| !sign.is_alphanumeric());
    let is_pair = other.len() == 1 && other.starts_with(|letter: char| letter.is_ascii_uppercase());
    index == usize::from(b'I' - b'A') || index == 0 && is_start && !is_pair
}

fn is_word_sign(letter: char) -> bool {
    // Scripts without upper case do not separate words by spaces.
    letter.is_lowercase() || letter.is_uppercase() || letter.is_numeric() || "'’-/&_".contains(letter)
}

/// Returns the positions of the options whose name is a word of the text.
fn named(text: &str, names: &[&str]) -> Vec<usize> {
    let found = names.iter().enumerate().filter(|(_, name)| !name.is_empty() && contains_name(text, name));
    found.map(|(index, _)| index).collect()
}

fn contains_name(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at + name.len()..).unwrap_or_default());
        // A full stop belongs to a name only if more of the name follows.
        let continues = after.strip_prefix(['.', '-', '/']).unwrap_or(after).starts_with(is_name_sign);
        !before.ends_with(is_name_sign) && !before.ends_with(['.', '-', '/']) && !continues
    })
}

fn is_name_sign(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

fn distinct(indexes: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut distinct: Vec<usize> = indexes.collect();
    distinct.sort_unstable();
    distinct.dedup();
    distinct
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 3] = ["get_weather", "get_weather_alerts", "mail.send"];

    #[test]
    fn a_choice_is_read_in_each_form() {
        for (answer, expected) in [
            ("B", 1),
            (" b\n", 1),
            ("(B)", 1),
            ("**B**", 1),
            ("B. It warns of storms, and A does not.", 1),
            ("I choose the option B.", 1),
            ("The best option is B", 1),
            ("Option B is the best one because it warns of storms.", 1),
            ("A good choice is (C).", 2),
            ("<think>A? No.</think>B", 1),
            ("Both fit, but I take A\n\nB", 1),
            ("Between A and B, I choose B.", 1),
            ("get_weather_alerts", 1),
            ("The tool `get_weather` serves the request.", 0),
            ("It is mail.send.", 2),
            ("B: get_weather_alerts", 1),
            ("{\"letter\": \"B\"}", 1),
            ("```json\n{\"reason\": \"storms\", \"choice\": \"B\"}\n```", 1),
            ("\"B\"", 1),
            ("选择 B。", 1),
        ] {
            assert_eq!(read_choice(answer, &NAMES), Some(expected), "{answer}");
        }
    }

    #[test]
    fn without_a_decision_there_is_no_choice() {
        for answer in [
            "", "D", "AB", "2", "?", "I like both.", "I like both A and B.", "A or B", "A nice tool",
            "get_weather or get_weather_alerts", "B: get_weather", "get_weathers", "<think>B", "{\"letter\": null}",
        ] {
            assert_eq!(read_choice(answer, &NAMES), None, "{answer}");
        }
    }

    #[test]
    fn a_long_answer_is_read_within_bounds() {
        assert_eq!(read_choice(&"ä A or B, ".repeat(100_000), &NAMES), None);
    }
}
