//! Sentences → passages of neighbouring sentences.

use super::pieces::{cut, exceeds};
use super::runs::{PassagePart, Sentence, SentenceRun};
use super::sentences::sentences;
use crate::explain::documents::heads;

/// Joins neighbouring sentences.
pub(crate) struct Joiner {
    limit: usize,
    /// Finished parts.
    pub(crate) done: Vec<PassagePart>,
    /// Consecutive sentences, none longer than the limit.
    run: Vec<Sentence>,
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

    /// Ends the run of sentences; it becomes one passage if it fits.
    pub(crate) fn flush(&mut self) {
        self.done.extend(SentenceRun::new_part(std::mem::take(&mut self.run), self.limit));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use proptest::test_runner::RngSeed;

    use crate::explain::Settings;
    use crate::explain::documents::{markdown, parts};
    use crate::explain::passages::outline::outline;
    use crate::explain::passages::pieces::Piece;
    use crate::explain::passages::sentence_vectors::SentenceVectors;

    fn split(text: &str, limit: usize) -> Vec<Piece> {
        let parts = parts(text, &Settings { passage_chars: limit, entry_chars: limit, ..Settings::default() });
        parts.into_iter().flat_map(|part| SentenceVectors::default().passages(part)).collect()
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
                let pieces = section.parts.into_iter().flat_map(|part| SentenceVectors::default().passages(part));
                let texts: Vec<String> = pieces.map(|piece| piece.text).collect();
                prop_assert!(texts.iter().all(|text| text.chars().count() <= limit));
                kept.extend(section.path.into_iter().chain(texts).flat_map(|text| [text, " ".to_owned()]));
            }
            for word in text.split(|character: char| !character.is_alphabetic()) {
                prop_assert!(kept.contains(word), "{word} is not in {kept}");
            }
        }
    }
}
