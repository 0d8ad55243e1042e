//! Tokenisation of text into search terms.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher};

use callwright_common::text::{nfkc, parts};

/// Maximum length of a term in characters; longer ones are encoded data or keys, which are not searched for.
const MAX_TERM_CHARS: usize = 64;

/// Returns the terms of a text, in order.
///
/// - Text is compatibility-normalised (Unicode NFKC) and folded to lower case; an English plural is removed from words
///   ([`stem`]).
/// - An identifier yields its parts, split at `_`, `-`, `.` and at changes of case (`startDate`, `HTTPServer`),
///   followed by the whole without separators. Hence `start_date`, `startDate` and `start-date` match each other.
/// - Letters and digits stay together (`P2002`, `oauth2`), and numbers stay whole (`20000`, `3.14`): they are often
///   error codes.
/// - Ideographs and kana, which are written without spaces, are one term each.
pub fn tokens(text: &str) -> Vec<String> {
    let normal = nfkc(text);
    let mut terms = Vec::new();
    let mut word = String::new();
    let mut characters = normal.chars().peekable();
    while let Some(character) = characters.next() {
        if is_unspaced(character) {
            push_word(&mut word, &mut terms);
            terms.push(character.to_string());
        } else if character.is_alphanumeric() {
            word.push(character);
        } else {
            let joins = is_joiner(character)
                && !word.is_empty()
                && characters.peek().is_some_and(|next| next.is_alphanumeric() && !is_unspaced(*next));
            if joins {
                word.push(character);
            } else if !is_mark(character) {
                push_word(&mut word, &mut terms);
            }
        }
    }
    push_word(&mut word, &mut terms);
    terms
}

/// Removes the English plural from a lower-case word: the "S stemmer" (Harman, "How effective is suffixing?", JASIS 42,
/// 1991).
pub fn stem(word: &str) -> String {
    if word.len() < 4 || !word.is_ascii() {
        return word.to_owned();
    }
    if word.ends_with("ies") && !ends_with_any(word, &["eies", "aies"]) {
        return format!("{}y", &word[..word.len() - 3]);
    }
    let drops_s = word.ends_with('s') && !ends_with_any(word, &["us", "ss", "aes", "ees", "oes"]);
    word[..word.len() - usize::from(drops_s)].to_owned()
}

fn ends_with_any(word: &str, suffixes: &[&str]) -> bool {
    suffixes.iter().any(|suffix| word.ends_with(suffix))
}

/// English words without information about a text's subject (the default set of Apache Lucene's English analysis).
pub(super) const STOP_WORDS: [&str; 33] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of",
    "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
];

/// Whether a lower-case word is too common for a search.
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(&word)
}

fn push_word(word: &mut String, terms: &mut Vec<String>) {
    let taken = std::mem::take(word);
    if taken.is_empty() || taken.chars().count() > MAX_TERM_CHARS {
        return;
    }
    if is_number(&taken) {
        terms.push(taken);
        return;
    }
    if taken.bytes().all(|byte| byte.is_ascii_lowercase()) {
        // Fast path: most words have one part.
        terms.push(stem(&taken));
        return;
    }
    let parts: Vec<String> = taken.split(is_joiner).flat_map(parts).map(str::to_lowercase).collect();
    if parts.len() > 1 {
        terms.extend(parts.iter().map(|part| stem(part)));
    }
    terms.push(stem(&parts.concat()));
}

/// Whether the word consists of digits and dots: an integer, a decimal, a version.
fn is_number(word: &str) -> bool {
    word.chars().all(|character| character.is_ascii_digit() || character == '.')
}

fn is_joiner(character: char) -> bool {
    matches!(character, '_' | '-' | '.')
}

/// Whether it is a combining mark or an apostrophe, which is part of a word and irrelevant to search.
fn is_mark(character: char) -> bool {
    matches!(character, '\'' | '\u{2019}' | '\u{00AD}' | '\u{0300}'..='\u{036F}')
}

/// Whether the character belongs to a script without spaces between words.
pub fn is_unspaced(character: char) -> bool {
    matches!(character, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

/// A term, as a hash of its text that is the same in every index. A collision among a million terms occurs once in many
/// millions of collections, and affects the order of some results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term(u64);

impl Term {
    /// Returns the hash of a term in the form of [`tokens`].
    pub fn of(term: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(term.as_bytes());
        Self(hasher.finish())
    }
}

/// Returns the terms of a text without duplicates, in the order of their first occurrence, because floating-point sums
/// depend on the order.
pub(super) fn distinct_terms(text: &str) -> Vec<Term> {
    let mut seen = HashSet::new();
    tokens(text).iter().map(|token| Term::of(token)).filter(|term| seen.insert(*term)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn joined(text: &str) -> String {
        tokens(text).join(" ")
    }

    #[test]
    fn identifiers_give_their_parts_and_the_whole() {
        assert_eq!(joined("startDate"), "start date startdate");
        assert_eq!(joined("start_date"), "start date startdate");
        assert_eq!(joined("Retry-After"), "retry after retryafter");
        assert_eq!(joined("user.login"), "user login userlogin");
        assert_eq!(joined("HTTPServerURL"), "http server url httpserverurl");
        assert_eq!(joined("INVALID_PARAM"), "invalid param invalidparam");
    }

    #[test]
    fn numbers_and_codes_stay_whole() {
        assert_eq!(joined("code 20000, (3.14) v P2002 oauth2."), "code 20000 3.14 v p2002 oauth2");
        assert_eq!(joined("-32600"), "32600");
    }

    #[test]
    fn sentences_lose_punctuation_and_plurals() {
        assert_eq!(joined("The cities' names. Don't pass addresses!"), "the city name dont pass addresse");
        assert_eq!(joined("end. Next"), "end next");
    }

    #[test]
    fn wide_forms_and_ideographs_are_searchable() {
        assert_eq!(joined("ＡＢＣ １２"), "abc 12");
        assert_eq!(joined("路径abc"), "路 径 abc");
    }

    #[test]
    fn over_long_words_are_left_out() {
        assert!(tokens(&"x".repeat(MAX_TERM_CHARS + 1)).is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn terms_are_never_empty_and_case_is_ignored_in_plain_words(text in ".{0,200}") {
            prop_assert!(tokens(&text).iter().all(|term| !term.is_empty()));
        }

        #[test]
        fn notations_of_one_identifier_share_its_whole(words in proptest::collection::vec("[a-z]{2,8}", 2..4)) {
            let snake = tokens(&words.join("_"));
            let camel: String = words.iter().enumerate().map(|(at, word)| match word.split_at(1) {
                (first, rest) if at > 0 => format!("{}{rest}", first.to_uppercase()),
                _ => word.clone(),
            }).collect();
            prop_assert_eq!(snake, tokens(&camel));
        }
    }

    #[test]
    fn the_terms_of_a_query_are_unique_and_in_order() {
        let terms = ["red", "apple", "green"].map(Term::of);
        assert_eq!(distinct_terms("Red apples, green apples: red!"), terms);
        assert!(distinct_terms(" ?! ").is_empty());
    }
}
