//! English function words, which occur in requests regardless of their subject.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::tokens::{STOP_WORDS, Term, distinct_terms, stem};

/// Function words of requests in addition to the stop words: pronouns, auxiliaries, question words, politeness.
const OF_REQUESTS: [&str; 70] = [
    "about", "also", "am", "any", "because", "been", "being", "can", "cant", "could", "did", "didnt", "do", "does",
    "doesnt", "dont", "from", "get", "had", "has", "hasnt", "have", "he", "help", "her", "his", "how", "i", "id", "im",
    "isnt", "its", "ive", "just", "know", "like", "may", "me", "might", "mine", "must", "my", "need", "our", "please",
    "shall", "she", "should", "so", "some", "tell", "than", "them", "us", "want", "we", "were", "what", "when",
    "where", "which", "who", "whose", "why", "wont", "would", "wouldnt", "yes", "you", "your",
];

/// Terms of the function words, in the form of [`tokens`](super::tokens()).
static FUNCTION_WORDS: LazyLock<HashSet<Term>> =
    LazyLock::new(|| STOP_WORDS.iter().chain(&OF_REQUESTS).map(|word| Term::of(&stem(word))).collect());

pub(super) fn is_function_word(term: Term) -> bool {
    FUNCTION_WORDS.contains(&term)
}

/// Returns the content terms of a text, without duplicates, in the order of their first occurrence. Function words are
/// omitted.
pub fn content_terms(text: &str) -> Vec<Term> {
    let mut terms = distinct_terms(text);
    terms.retain(|term| !is_function_word(*term));
    terms
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrieval::tokens;

    #[test]
    fn function_words_are_distinguished_from_content() {
        let function_words =
            |text: &str| tokens(text).iter().map(|token| is_function_word(Term::of(token))).collect::<Vec<_>>();
        assert_eq!(function_words("Can you please don't this"), [true; 5]);
        assert_eq!(function_words("weather Oslo tomorrow"), [false; 3]);
    }

    #[test]
    fn content_terms_omit_function_words() {
        assert_eq!(content_terms("Can you tell me the weather? Weather!"), [Term::of("weather")]);
        assert!(content_terms("What should I do?").is_empty());
    }
}
