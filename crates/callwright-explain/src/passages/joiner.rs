//! Sentences → passages of neighbouring sentences.

use std::collections::HashMap;

use super::sentences::sentences;
use super::{Piece, cut, exceeds};
use crate::documents::heads;
use crate::index::codes::mentioned;
use callwright_search::retrieval::{is_stop_word, tokens};

/// Joins neighbouring sentences.
pub(crate) struct Joiner {
    limit: usize,
    /// Finished passages.
    pub(crate) done: Vec<Piece>,
    /// Consecutive sentences, none longer than the limit.
    run: Vec<Sentence>,
}

/// Sentence with the codes that it defines.
struct Sentence {
    text: String,
    chars: usize,
    defines: Vec<String>,
}

impl Sentence {
    fn new(text: &str, defines: &[String]) -> Self {
        Self { text: text.to_owned(), chars: text.chars().count(), defines: defines.to_vec() }
    }
}

impl Joiner {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit: limit.max(1), done: Vec::new(), run: Vec::new() }
    }

    /// Adds the sentences of a paragraph or list item. A sentence that defines a code starts a passage, which the
    /// block's following sentences continue and which ends with the block.
    pub(crate) fn add_prose(&mut self, text: &str) {
        let mut defining = false;
        for sentence in sentences(text) {
            match heads::sentence_head(sentence) {
                Some(head) => {
                    self.flush();
                    defining = true;
                    self.add(sentence, &head.codes);
                }
                None => self.add(sentence, &[]),
            }
        }
        if defining {
            self.flush();
        }
    }

    /// Adds a sentence, split if it is longer than a passage.
    pub(crate) fn add(&mut self, text: &str, defines: &[String]) {
        let mut rest = text;
        while !rest.is_empty() {
            let (head, tail) = if exceeds(rest, self.limit) { cut(rest, self.limit) } else { (rest, "") };
            self.run.push(Sentence::new(head, defines));
            rest = tail;
        }
    }

    /// Ends the run of sentences.
    pub(crate) fn flush(&mut self) {
        self.done.extend(split(&self.run, self.limit));
        self.run.clear();
    }
}

/// Joins sentences, none longer than `limit`, to one passage if they fit. Otherwise splits them at the gaps with the
/// least cohesion, where the passage before the gap is at least half full: an earlier gap would separate related
/// sentences.
fn split(sentences: &[Sentence], limit: usize) -> Vec<Piece> {
    let mut passages = Vec::new();
    let mut words = Vec::new();
    let mut start = 0;
    while start < sentences.len() {
        let rest = &sentences[start..];
        let mut taken = fitting(rest, limit);
        if taken < rest.len() {
            if words.is_empty() {
                words = sentences.iter().map(|sentence| content_words(&sentence.text)).collect();
            }
            let least = (fitting(rest, limit / 2) + 1).min(taken);
            // Among equal gaps, choose the last for the longest passage.
            let gaps = (least..=taken).rev().map(|taken| (cohesion(&words, start + taken), taken));
            taken = gaps.min_by(|left, right| left.0.total_cmp(&right.0)).map_or(taken, |(_, taken)| taken);
        }
        passages.extend(joined(&rest[..taken]));
        start += taken;
    }
    passages
}

/// Returns the number of sentences that fit into a passage; at least one.
fn fitting(sentences: &[Sentence], limit: usize) -> usize {
    let (mut chars, mut fitting) = (0, 0);
    for sentence in sentences {
        chars += sentence.chars + usize::from(chars > 0);
        if chars > limit {
            break;
        }
        fitting += 1;
    }
    fitting.max(1)
}

fn joined(sentences: &[Sentence]) -> Option<Piece> {
    let texts: Vec<&str> = sentences.iter().map(|sentence| sentence.text.as_str()).collect();
    let text = texts.join(" ");
    let mentions = texts.iter().flat_map(|text| mentioned(text)).collect();
    let defines = sentences.iter().flat_map(|sentence| sentence.defines.iter().cloned()).collect();
    (!text.is_empty()).then_some(Piece { text, defines, mentions })
}

fn content_words(sentence: &str) -> Vec<String> {
    tokens(sentence).into_iter().filter(|word| !is_stop_word(word)).collect()
}

/// Number of sentences on each side of a gap whose words are compared; a single sentence has too few words.
const WINDOW: usize = 3;

/// Returns the cohesion between the sentences before number `gap` and those from it on, 0 (nothing in common) to 1: the
/// cosine of the word counts, like the block comparison of TextTiling (Hearst 1997, section 4.2).
fn cohesion(words: &[Vec<String>], gap: usize) -> f32 {
    let (before, behind) = words.split_at(gap);
    let before = counts(before.iter().rev().take(WINDOW));
    let behind = counts(behind.iter().take(WINDOW));
    let product: f32 = before.iter().filter_map(|(word, count)| Some(count * behind.get(word)?)).sum();
    let lengths = length(&before) * length(&behind);
    if lengths > 0.0 { product / lengths } else { 0.0 }
}

/// Returns the Euclidean length of a vector of word counts.
fn length(counts: &HashMap<&str, f32>) -> f32 {
    counts.values().map(|count| count * count).sum::<f32>().sqrt()
}

fn counts<'a>(sentences: impl Iterator<Item = &'a Vec<String>>) -> HashMap<&'a str, f32> {
    let mut counts = HashMap::new();
    for word in sentences.flatten() {
        *counts.entry(word.as_str()).or_default() += 1.0;
    }
    counts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use proptest::test_runner::RngSeed;

    use super::{Sentence, cohesion, split as split_sentences};
    use crate::Settings;
    use crate::documents::{markdown, passages};
    use crate::passages::Piece;
    use crate::passages::outline::outline;

    fn split(text: &str, limit: usize) -> Vec<Piece> {
        passages(text, &Settings { passage_chars: limit, entry_chars: limit, ..Settings::default() })
    }

    fn texts(text: &str, limit: usize) -> Vec<String> {
        split(text, limit).into_iter().map(|piece| piece.text).collect()
    }

    #[test]
    fn neighbours_are_joined_up_to_the_limit() {
        assert_eq!(
            texts("One is one. Two is two. Three is three.", 24),
            ["One is one. Two is two.", "Three is three."]
        );
        assert_eq!(texts("Intro.\n\n# Head\n\nBody is here.", 99), ["Intro.", "Head Body is here."]);
    }

    #[test]
    fn long_prose_is_split_where_the_subject_changes() {
        let doors = "The door of the locker opens. The door closes the locker. The locker locks the door.";
        let vans = "A van leaves the depot. The van carries parcels to the depot.";
        assert_eq!(texts(&format!("{doors} {vans}"), 120), [doors, vans]);
    }

    #[test]
    fn a_row_and_a_definition_stay_by_themselves() {
        let text =
            "Codes:\n\n| code | why |\n|---|---|\n| 1 | `a` is bad |\n| 2 | two |\n\n- `E_X`: why x\n- `E_Y`: why y\n";
        let pieces = split(text, 99);
        let texts: Vec<_> = pieces.iter().map(|piece| piece.text.as_str()).collect();
        assert_eq!(texts, ["Codes:", "1\nWhy: `a` is bad", "2\nWhy: two", "`E_X`: why x", "`E_Y`: why y"]);
        assert_eq!(pieces[1].defines, ["1"]);
        assert_eq!(pieces[1].mentions, ["a"]);
        assert_eq!(pieces[3].defines, ["e_x"]);
    }

    #[test]
    fn a_megabyte_without_a_boundary_is_cut_in_linear_time() {
        let pieces = split(&"x".repeat(1_000_000), 400);
        assert_eq!(pieces.len(), 2500);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_passage_exceeds_the_limit_and_no_word_is_lost(
            text in "([a-zé`]{1,9}[.:]? |\n|- |# ){0,60}", limit in 48_usize..160,
        ) {
            let settings = Settings { passage_chars: limit, entry_chars: limit, ..Settings::default() };
            let mut kept = String::new();
            for section in outline(markdown(&text), &settings) {
                let texts: Vec<String> = section.passages.into_iter().map(|piece| piece.text).collect();
                prop_assert!(texts.iter().all(|text| text.chars().count() <= limit));
                kept.extend(section.path.into_iter().chain(texts).flat_map(|text| [text, " ".to_owned()]));
            }
            for word in text.split(|character: char| !character.is_alphabetic()) {
                prop_assert!(kept.contains(word), "{word} is not in {kept}");
            }
        }

        #[test]
        fn no_sentence_is_lost(
            lengths in prop::collection::vec(1_usize..=40, 1..60),
            limit in 40_usize..160,
        ) {
            let texts: Vec<String> = lengths.iter().enumerate()
                .map(|(number, length)| format!("{number:0>2}{}", "x".repeat(length - 1)).chars().take(40).collect())
                .collect();
            let sentences: Vec<Sentence> = texts.iter().map(|text| Sentence::new(text, &[])).collect();
            let split: Vec<String> = split_sentences(&sentences, limit).into_iter().map(|piece| piece.text).collect();
            prop_assert_eq!(split.join(" "), texts.join(" "));
            prop_assert!(split.iter().all(|text| text.chars().count() <= limit), "{:?}", split);
        }
    }

    #[test]
    fn cohesion_is_least_where_the_subject_changes() {
        let sentences =
            ["The door opens.", "The door closes the locker.", "A van leaves the depot.", "The van has parcels."];
        let words: Vec<Vec<String>> = sentences.map(super::content_words).to_vec();
        assert!(cohesion(&words, 2) < cohesion(&words, 1) && cohesion(&words, 2) < cohesion(&words, 3));
        assert!(cohesion(&words, 0) < f32::EPSILON && cohesion(&words, 4) < f32::EPSILON);
    }
}
