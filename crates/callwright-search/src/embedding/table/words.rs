//! Tokenisation into words and word pieces, as in BERT's uncased models.
//!
//! The rules are those of BERT's `BasicTokenizer` and `WordpieceTokenizer`, except that symbols are separate tokens,
//! like punctuation. A general-purpose tokenizer tracks the origin of each token, which takes more time than is
//! available here (see docs/benchmarks/retrieval.md).

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Prefix of continuation pieces in the vocabulary.
const CONTINUATION: &str = "##";

/// Maximum number of characters of a word that is tokenised; longer ones are data. As in BERT.
const LONGEST_WORD: usize = 100;

/// Ids of the word pieces.
#[derive(Debug)]
pub(super) struct PieceVocabulary {
    starts: HashMap<&'static str, u32>,
    continuations: HashMap<&'static str, u32>,
    /// Length in bytes of the longest piece, which limits the lookup.
    longest: usize,
}

impl PieceVocabulary {
    /// Creates a vocabulary; pieces are numbered in order.
    pub(super) fn new(pieces: impl Iterator<Item = &'static str>) -> Self {
        let mut vocabulary = Self { starts: HashMap::new(), continuations: HashMap::new(), longest: 0 };
        for (number, piece) in (0_u32..).zip(pieces) {
            vocabulary.longest = vocabulary.longest.max(piece.len());
            match piece.strip_prefix(CONTINUATION) {
                Some(rest) if !rest.is_empty() => vocabulary.continuations.insert(rest, number),
                _ => vocabulary.starts.insert(piece, number),
            };
        }
        vocabulary
    }

    /// Calls `found` with each token of a text. Words that cannot be composed of pieces have no tokens.
    pub(super) fn tokens(&self, text: &str, mut found: impl FnMut(u32)) {
        let mut word = String::new();
        let mut pieces = Vec::new();
        for character in text.nfd().filter(|character| !is_combining_mark(*character)) {
            if character.is_alphanumeric() && !is_ideograph(character) {
                word.extend(character.to_lowercase());
                continue;
            }
            self.word(&mut word, &mut pieces, &mut found);
            if !character.is_whitespace() && !character.is_control() {
                word.push(character);
                self.word(&mut word, &mut pieces, &mut found);
            }
        }
        self.word(&mut word, &mut pieces, &mut found);
    }

    /// Emits the pieces of a word by longest match, or none if a part of the word does not match. Clears the word.
    fn word(&self, word: &mut String, pieces: &mut Vec<u32>, found: &mut impl FnMut(u32)) {
        let mut rest = if word.chars().nth(LONGEST_WORD).is_none() { word.as_str() } else { "" };
        let mut table = &self.starts;
        pieces.clear();
        while !rest.is_empty() {
            let Some((piece, number)) = longest(table, rest, self.longest) else {
                pieces.clear();
                break;
            };
            pieces.push(number);
            rest = rest.get(piece..).unwrap_or_default();
            table = &self.continuations;
        }
        pieces.drain(..).for_each(&mut *found);
        word.clear();
    }
}

/// Returns length in bytes and id of the longest piece at the start of `text`.
fn longest(table: &HashMap<&'static str, u32>, text: &str, most: usize) -> Option<(usize, u32)> {
    let ends = (1..=text.len().min(most)).rev();
    ends.filter_map(|end| text.get(..end)).find_map(|piece| table.get(piece).map(|number| (piece.len(), *number)))
}

/// Whether a character is a word by itself (CJK Unified Ideographs and their extensions, as defined by BERT).
fn is_ideograph(character: char) -> bool {
    matches!(u32::from(character),
        0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x2A6DF | 0x2A700..=0x2CEAF | 0x2F800..=0x2FA1F)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PIECES: [&str; 12] = ["un", "##able", "##a", "cafe", "-", "§", "北", "京", "a", "##b", "##", "##ß"];

    fn tokens(text: &str) -> Vec<&'static str> {
        let vocabulary = PieceVocabulary::new(PIECES.into_iter());
        let mut found = Vec::new();
        vocabulary.tokens(text, |number| found.push(PIECES[number as usize]));
        found
    }

    #[test]
    fn words_are_put_together_from_the_longest_pieces() {
        assert_eq!(tokens("unable UNABLE"), ["un", "##able", "un", "##able"]);
        assert_eq!(tokens("una"), ["un", "##a"]);
        assert_eq!(tokens("abbb"), ["a", "##b", "##b", "##b"]);
    }

    #[test]
    fn a_word_with_an_unknown_rest_has_no_token() {
        assert_eq!(tokens("unx a"), ["a"]);
        assert_eq!(tokens(&format!("a{}", "b".repeat(LONGEST_WORD))), Vec::<&str>::new());
    }

    #[test]
    fn accents_case_and_neighbours_do_not_matter() {
        assert_eq!(tokens("Café-CAFE\u{301}"), ["cafe", "-", "cafe"]);
        assert_eq!(tokens("§a 北京\u{0}\u{200b}"), ["§", "a", "北", "京"]);
        assert_eq!(tokens("##"), Vec::<&str>::new());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,60}") {
            tokens(&text);
        }
    }
}
