//! Exact-match fields: the codes and names that a text mentions, and those that it defines.

use super::blocks::cells;

/// Longest code that is kept, in bytes: what is longer is data.
const MAX_CODE_BYTES: usize = 100;

/// Least length, in digits, at which a bare number in prose is taken for a code rather than a quantity.
const LEAST_CODE_DIGITS: usize = 3;

/// A code or name in the form in which it is compared: without quotes and outer punctuation, in lower case. `None` for what cannot be
/// one: several words, nothing, too much.
pub(super) fn normal_form(text: &str) -> Option<String> {
    let core = text.trim().trim_matches(|character: char| !character.is_alphanumeric());
    let one_word = !core.is_empty() && core.len() <= MAX_CODE_BYTES && !core.contains(char::is_whitespace);
    one_word.then(|| core.to_lowercase())
}

/// The codes and names that a text mentions: what stands in code spans, and words that look like codes.
pub(super) fn mentioned(text: &str) -> Vec<String> {
    let spans = text.split('`').skip(1).step_by(2);
    let in_spans = spans.flat_map(words).filter_map(normal_form);
    let in_prose =
        text.split('`').step_by(2).flat_map(words).filter(|word| looks_like_code(word)).filter_map(normal_form);
    in_spans.chain(in_prose).collect()
}

/// The codes and names that a sentence or list item defines: the one at its head, before a colon or a dash (`` `A1`: because ``,
/// `20000 - because`, `origin (query, required): because`), or alone before what explains it.
pub(super) fn defined_by_sentence(text: &str) -> Option<String> {
    let (head, _) = split_head(text)?;
    let head = head.split(" (").next().unwrap_or(head);
    normal_form(head)
}

/// The codes and names that a table row defines: its cells that hold a single word.
pub(super) fn defined_by_row(row: &str) -> Vec<String> {
    cells(row).into_iter().filter_map(normal_form).collect()
}

/// Does a word look like a code or a name from code: `INVALID_PARAM`, `start_date`, `P2002`, `20000`, `startDate`?
pub(super) fn looks_like_code(word: &str) -> bool {
    let core = word.trim_matches(|character: char| !character.is_alphanumeric());
    let count = |test: fn(&char) -> bool| core.chars().filter(test).count();
    let digits = count(|character| character.is_ascii_digit());
    let capitals = count(|character| character.is_uppercase());
    let small = count(|character| character.is_lowercase());
    let inner_capital = core.chars().skip(1).any(char::is_uppercase) && small > 0;
    core.contains('_')
        || digits > 0 && (capitals + small > 0 || digits >= LEAST_CODE_DIGITS && digits == core.len())
        || small == 0 && capitals >= 3
        || inner_capital
}

/// The words of a text, with what may stand inside a code.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !(character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '/')))
        .filter(|word| !word.is_empty())
}

/// What stands before the first colon or dash, if that is short enough to be a name.
fn split_head(text: &str) -> Option<(&str, &str)> {
    let colon = text.split_once(": ");
    let dash = [" - ", " – ", " — "].iter().find_map(|dash| text.split_once(dash));
    [colon, dash].into_iter().flatten().min_by_key(|(head, _)| head.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_look_like_codes_are_told_from_prose() {
        for code in ["INVALID_PARAM", "start_date", "P2002", "20000", "startDate", "E11", "(E_FIELDS)", "EOF"] {
            assert!(looks_like_code(code), "{code}");
        }
        for word in ["London", "a", "12", "I", "OK", "invalid", "2.5", ""] {
            assert!(!looks_like_code(word), "{word}");
        }
    }

    #[test]
    fn the_head_of_a_sentence_is_what_it_defines() {
        let cases = [
            ("`E_TOKEN`: the token is wrong.", Some("e_token")),
            ("20000 - Illegal parameters", Some("20000")),
            ("origin (query, required): Where it starts.", Some("origin")),
            ("Errors are short: see below.", None),
            ("No head here.", None),
        ];
        for (sentence, expected) in cases {
            assert_eq!(defined_by_sentence(sentence).as_deref(), expected, "{sentence}");
        }
    }

    #[test]
    fn the_single_words_of_a_row_are_what_it_defines() {
        assert_eq!(defined_by_row("| 20000 | `INVALID` | two words |"), ["20000", "invalid"]);
    }

    #[test]
    fn code_spans_and_codes_are_mentioned() {
        assert_eq!(mentioned("In `origin` see `a b` and E_17, not here."), ["origin", "a", "b", "e_17"]);
    }
}
