//! Sentences → passages: neighbours that are shown together.

use super::blocks::{Block, blocks};
use super::codes::{defined_by_row, defined_by_sentence, mentioned};
use super::sentences::sentences;

/// A few neighbouring sentences, before they are indexed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Piece {
    /// What a reader is shown.
    pub text: String,
    /// Codes and names that it defines, in normal form.
    pub defines: Vec<String>,
    /// Codes and names that it mentions, in normal form.
    pub mentions: Vec<String>,
}

/// Splits a text into passages of at most `limit` characters (AutoFeedback section 3.3.1). Neighbouring sentences are joined, but not across
/// a heading; a table row stays by itself with its header, and so does a list item or paragraph that defines a code, because only one of
/// a list of codes explains an outcome.
pub(super) fn passages(text: &str, limit: usize) -> Vec<Piece> {
    let mut joiner = Joiner { limit: limit.max(1), done: Vec::new(), open: Piece::default() };
    for block in blocks(text) {
        match block {
            Block::Heading(heading) => {
                joiner.flush();
                joiner.add(&heading, &[]);
            }
            Block::Row { header, row } => joiner.add_row(&header, &row),
            Block::Item(text) => joiner.add_sentences(&[&text]),
            Block::Prose(text) => joiner.add_sentences(&sentences(&text)),
            Block::Code(text) => joiner.add(&text, &[]),
        }
    }
    joiner.flush();
    joiner.done
}

struct Joiner {
    limit: usize,
    done: Vec<Piece>,
    open: Piece,
}

impl Joiner {
    /// The sentences of a paragraph or a list item. One that defines a code begins a passage, which the block's next sentences go on with
    /// and which ends with the block.
    fn add_sentences(&mut self, sentences: &[&str]) {
        let mut defining = false;
        for sentence in sentences {
            match defined_by_sentence(sentence) {
                Some(code) => {
                    self.flush();
                    defining = true;
                    self.add(sentence, &[code]);
                }
                None => self.add(sentence, &[]),
            }
        }
        if defining {
            self.flush();
        }
    }

    fn add_row(&mut self, header: &str, row: &str) {
        let defines = defined_by_row(row);
        let whole = format!("{header}\n{row}");
        if header.is_empty() || exceeds(&whole, self.limit) {
            return self.add_alone(row, &defines);
        }
        self.flush();
        // What the header mentions is said by every row of the table, so it tells none of them from the others.
        self.done.push(Piece { text: whole, defines, mentions: mentioned(row) });
    }

    fn add_alone(&mut self, text: &str, defines: &[String]) {
        self.flush();
        self.add(text, defines);
        self.flush();
    }

    /// Joins a text to the open passage, or begins the next one with it where it does not fit.
    fn add(&mut self, text: &str, defines: &[String]) {
        let room = self.limit.saturating_sub(self.open.text.chars().count() + 1);
        if !self.open.text.is_empty() && exceeds(text, room) {
            self.flush();
        }
        let mut rest = text;
        while exceeds(rest, self.limit) {
            let (head, tail) = cut(rest, self.limit);
            self.push(head, defines);
            self.flush();
            rest = tail;
        }
        self.push(rest, defines);
    }

    fn push(&mut self, text: &str, defines: &[String]) {
        if !self.open.text.is_empty() && !text.is_empty() {
            self.open.text.push(' ');
        }
        self.open.text.push_str(text);
        self.open.defines.extend_from_slice(defines);
        self.open.mentions.extend(mentioned(text));
    }

    fn flush(&mut self) {
        let piece = std::mem::take(&mut self.open);
        if !piece.text.is_empty() {
            self.done.push(piece);
        }
    }
}

/// Has the text more than `limit` characters?
fn exceeds(text: &str, limit: usize) -> bool {
    text.chars().nth(limit).is_some()
}

/// Cuts a text of more than `limit` characters at the last space before the limit, or at the limit where there is none.
fn cut(text: &str, limit: usize) -> (&str, &str) {
    let hard = text.char_indices().nth(limit).map_or(text.len(), |(at, _)| at);
    let soft = text[..hard].rfind(char::is_whitespace).filter(|at| *at > 0).unwrap_or(hard);
    (text[..soft].trim_end(), text[soft..].trim_start())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(text: &str, limit: usize) -> Vec<String> {
        passages(text, limit).into_iter().map(|piece| piece.text).collect()
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
    fn a_row_and_a_definition_stay_by_themselves() {
        let text =
            "Codes:\n\n| code | why |\n|---|---|\n| 1 | `a` is bad |\n| 2 | two |\n\n- `E_X`: why x\n- `E_Y`: why y\n";
        let pieces = passages(text, 99);
        let shown: Vec<_> = pieces.iter().map(|piece| piece.text.as_str()).collect();
        assert_eq!(
            shown,
            [
                "Codes:",
                "| code | why |\n| 1 | `a` is bad |",
                "| code | why |\n| 2 | two |",
                "`E_X`: why x",
                "`E_Y`: why y"
            ]
        );
        assert_eq!(pieces[1].defines, ["1"]);
        assert_eq!(pieces[1].mentions, ["a"]);
        assert_eq!(pieces[3].defines, ["e_x"]);
    }

    #[test]
    fn a_row_that_does_not_fit_with_its_header_goes_without() {
        assert_eq!(texts("| a | b |\n|---|---|\n| first | second |", 20), ["| first | second |"]);
    }

    #[test]
    fn a_megabyte_without_a_boundary_is_cut_in_linear_time() {
        let pieces = passages(&"x".repeat(1_000_000), 400);
        assert_eq!(pieces.len(), 2500);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_passage_exceeds_the_limit_and_no_word_is_lost(
            text in "([a-zé`]{1,9}[.:]? |\n|- |# ){0,60}", limit in 8_usize..80,
        ) {
            let pieces = passages(&text, limit);
            prop_assert!(pieces.iter().all(|piece| piece.text.chars().count() <= limit));
            let shown: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
            let letters = |text: &str| text.chars().filter(|character| character.is_alphabetic()).count();
            prop_assert!(letters(&shown) >= letters(&text));
        }
    }
}
