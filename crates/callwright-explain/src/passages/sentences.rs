//! Prose → sentences.

use unicode_segmentation::UnicodeSegmentation;

use crate::index::codes::MAX_CODE_BYTES;
use crate::word_list::WordList;
use callwright_common::text::beginning_bytes;

/// Splits prose into sentences without losing any character except the whitespace between them.
///
/// The boundaries follow Unicode Standard Annex 29 (section 5), which is unaware of abbreviations and code. Boundaries
/// after an abbreviation or initial, inside a URL, or inside a code span are removed. A boundary is added before a
/// lower-case identifier (`start_date`), because documentation often starts sentences with one.
pub(crate) fn sentences(prose: &str) -> Vec<&str> {
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

/// Returns the byte positions after the ends of sentences.
fn ends(prose: &str) -> Vec<usize> {
    let mut spans = code_spans(prose).into_iter().peekable();
    let mut in_code = |at: usize| {
        while spans.next_if(|(_, end)| *end <= at).is_some() {}
        spans.peek().is_some_and(|(start, _)| *start < at)
    };
    let mut ends = Vec::new();
    for (start, sentence) in prose.split_sentence_bound_indices() {
        let added = sentence.match_indices(['.', '!', '?']).filter_map(|(stop, _)| before_identifier(sentence, stop));
        let candidates = added.map(|end| start + end).chain([start + sentence.len()]);
        ends.extend(candidates.filter(|end| !in_code(*end) && ends_sentence(prose, *end)));
    }
    ends
}

/// Returns the start and end of each code span. An unpaired backquote is ignored.
fn code_spans(prose: &str) -> Vec<(usize, usize)> {
    let ticks: Vec<usize> = prose.match_indices('`').map(|(at, _)| at).collect();
    ticks.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}

/// Returns the position of an identifier after the full stop at `stop`.
fn before_identifier(text: &str, stop: usize) -> Option<usize> {
    let behind = &text[stop + 1..];
    let next = behind.trim_start();
    // Cheap checks first: a text without spaces is a single word.
    if next.len() == behind.len() || !next.starts_with(char::is_lowercase) {
        return None;
    }
    let word = beginning_bytes(next, MAX_CODE_BYTES).split_whitespace().next()?;
    is_identifier(word).then_some(text.len() - next.len())
}

/// Whether a sentence ends before the boundary at `end`.
fn ends_sentence(prose: &str, end: usize) -> bool {
    let (before, next) = (&prose[..end], &prose[end..]);
    let stopped = before.trim_end();
    let spaced = stopped.len() < before.len() || next.is_empty();
    let bare = stopped.trim_end_matches(['"', '\'', ')', ']', '*', '_', '”', '’', '»']);
    match bare.strip_suffix(['.', '!', '?']) {
        // No space follows the mark in `a.html?b`; non-ASCII marks such as `。` need none.
        Some(_) if !spaced => false,
        Some(word) => !bare.ends_with('.') || !is_abbreviation(word, next),
        None => true,
    }
}

/// Whether a word is an identifier: it has an underscore, or a capital after a small letter.
fn is_identifier(word: &str) -> bool {
    let characters: Vec<char> = word.chars().collect();
    word.contains('_')
        || characters.windows(2).any(|pair| matches!(pair, [a, b] if a.is_lowercase() && b.is_uppercase()))
}

/// Abbreviations after which a sentence continues.
const ABBREVIATIONS: WordList = WordList(
    "e.g i.e eg ie cf vs viz resp approx incl excl esp ca mr mrs ms dr prof st no nr fig sec vol pp min max std \
     inc etc",
);

/// Abbreviations that can also end a sentence; only a following number continues it.
const FINAL_ABBREVIATIONS: [&str; 5] = ["etc", "inc", "no", "min", "max"];

/// Whether `before` ends with an abbreviation or an initial, to which the full stop belongs.
fn is_abbreviation(before: &str, next: &str) -> bool {
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    let word = word.trim_start_matches(['(', '[', '"', '\'', '*']).to_lowercase();
    let initial = word.chars().count() == 1 && word.chars().all(char::is_alphabetic);
    let next_is_number = next.starts_with(|first: char| first.is_ascii_digit());
    if FINAL_ABBREVIATIONS.contains(&word.as_str()) {
        return next_is_number;
    }
    initial || ABBREVIATIONS.contains(&word)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    #[test]
    fn sentence_boundaries_respect_abbreviations_links_and_code() {
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
    fn blank_text_has_no_sentence() {
        assert!(sentences(" \n ").is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_character_but_whitespace_is_lost(prose in "[a-zA-Z_0-9.!?。` )\"]{0,120}") {
            let kept: String = sentences(&prose).concat().split_whitespace().collect();
            prop_assert_eq!(kept, prose.split_whitespace().collect::<String>());
        }
    }
}
