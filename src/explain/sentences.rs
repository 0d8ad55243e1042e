//! Prose → sentences.

/// Splits prose into its sentences, without losing a character but the whitespace between them.
///
/// A sentence ends at `.`, `!`, `?` (with closing quotes and brackets behind it) before whitespace and the start of another sentence,
/// and at the ideographic `。`, `！`, `？` wherever they stand (after Unicode Standard Annex 29, rules SB6 to SB11). It does not end behind
/// an abbreviation or an initial, inside a number, an address or a code span, nor before a word in lower case, unless that word is
/// an identifier (`start_date`): documentation often begins sentences with one.
pub(super) fn sentences(prose: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for end in ends(prose) {
        push(&mut sentences, &prose[start..end]);
        start = end;
    }
    push(&mut sentences, &prose[start..]);
    sentences
}

fn push<'a>(sentences: &mut Vec<&'a str>, text: &'a str) {
    let text = text.trim();
    if !text.is_empty() {
        sentences.push(text);
    }
}

/// Byte positions behind the ends of sentences.
fn ends(prose: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut in_code = false;
    for (at, character) in prose.char_indices() {
        match character {
            // A backtick without a partner opens nothing.
            '`' => in_code = !in_code && prose[at + 1..].contains('`'),
            '。' | '！' | '？' if !in_code => ends.push(at + character.len_utf8()),
            '.' | '!' | '?' if !in_code => ends.extend(end_of_sentence(prose, at)),
            _ => {}
        }
    }
    ends
}

/// The position behind the sentence that the full stop at `stop` ends, if it ends one.
fn end_of_sentence(prose: &str, stop: usize) -> Option<usize> {
    let behind = &prose[stop + 1..];
    let after_closers = behind.trim_start_matches(['"', '\'', ')', ']', '*', '_', '”', '’', '»']);
    let next = after_closers.trim_start();
    let spaced = next.len() < after_closers.len();
    if !spaced || !starts_sentence(next) {
        return None;
    }
    let ends_word = prose[stop..].starts_with('.') && is_abbreviation(&prose[..stop], next);
    (!ends_word).then(|| prose.len() - after_closers.len())
}

/// Can a sentence begin like this?
fn starts_sentence(next: &str) -> bool {
    let word = next.split_whitespace().next().unwrap_or_default();
    match word.trim_start_matches(['"', '\'', '(', '[', '*', '“', '‘', '«']).chars().next() {
        Some(first) if first.is_lowercase() => is_identifier(word),
        Some(_) => true,
        None => false,
    }
}

/// Looks like a name from code: has an underscore or a capital behind a small letter.
fn is_identifier(word: &str) -> bool {
    let characters: Vec<char> = word.chars().collect();
    word.contains('_')
        || characters.windows(2).any(|pair| matches!(pair, [a, b] if a.is_lowercase() && b.is_uppercase()))
}

/// Abbreviations that a sentence goes on behind.
const ABBREVIATIONS: [&str; 30] = [
    "e.g", "i.e", "eg", "ie", "cf", "vs", "viz", "resp", "approx", "incl", "excl", "esp", "ca", "mr", "mrs", "ms",
    "dr", "prof", "st", "no", "nr", "fig", "sec", "vol", "pp", "min", "max", "std", "inc", "etc",
];

/// Abbreviations that a sentence can also end with: the next word's capital decides.
const FINAL_ABBREVIATIONS: [&str; 5] = ["etc", "inc", "no", "min", "max"];

/// Does `before` end with an abbreviation or an initial, so that the full stop behind it belongs to it?
fn is_abbreviation(before: &str, next: &str) -> bool {
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    let word = word.trim_start_matches(['(', '[', '"', '\'', '*']).to_lowercase();
    let initial = word.chars().count() == 1 && word.chars().all(char::is_alphabetic);
    let next_is_number = next.starts_with(|first: char| first.is_ascii_digit());
    if FINAL_ABBREVIATIONS.contains(&word.as_str()) {
        return next_is_number;
    }
    initial || ABBREVIATIONS.contains(&word.as_str())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sentences_end_where_a_reader_ends_them() {
        let cases: [(&str, &[&str]); 14] = [
            ("One. Two! Three?", &["One.", "Two!", "Three?"]),
            ("At most 6.5 decimals. See v1.2 notes.", &["At most 6.5 decimals.", "See v1.2 notes."]),
            ("Use a city, e.g. London. Then go.", &["Use a city, e.g. London.", "Then go."]),
            ("Colours, sizes, etc. Then more.", &["Colours, sizes, etc.", "Then more."]),
            ("See https://a.example/x.html?y=1. Done.", &["See https://a.example/x.html?y=1.", "Done."]),
            ("Pass `a. B` here. Next.", &["Pass `a. B` here.", "Next."]),
            ("It failed. start_date must be set.", &["It failed.", "start_date must be set."]),
            ("Sent by J. Smith. He left.", &["Sent by J. Smith.", "He left."]),
            ("(It is so.) Next one.", &["(It is so.)", "Next one."]),
            ("He said \"Stop.\" Then left.", &["He said \"Stop.\"", "Then left."]),
            ("See no. 5 of it. Ok.", &["See no. 5 of it.", "Ok."]),
            ("the api. uses lower case", &["the api. uses lower case"]),
            ("经度在前。纬度在后！", &["经度在前。", "纬度在后！"]),
            ("A lone ` tick. Goes on.", &["A lone ` tick.", "Goes on."]),
        ];
        for (prose, expected) in cases {
            assert_eq!(sentences(prose), expected, "{prose}");
        }
    }

    #[test]
    fn nothing_gives_no_sentence() {
        assert!(sentences(" \n ").is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_character_but_whitespace_is_lost(prose in "[a-zA-Z_0-9.!?。` )\"]{0,120}") {
            let kept: String = sentences(&prose).concat().split_whitespace().collect();
            prop_assert_eq!(kept, prose.split_whitespace().collect::<String>());
        }
    }
}
