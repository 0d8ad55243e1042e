//! Splits a request into clauses.

use std::sync::LazyLock;

use regex::Regex;

use super::words::{said_words, terms};
use callwright_search::retrieval::Term;

/// Maximum number of clauses; the rest of the text belongs to the last one.
pub(super) const MAX_CLAUSES: usize = 32;

/// Clause boundaries: the end of a sentence, a comma, a new line, or an English connective. Other languages only have
/// punctuation.
#[allow(clippy::unwrap_used, reason = "a constant pattern, which a test reads")]
static BETWEEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)[.;:?!]\s|[,\n，。；、？！]|\b(?:and|then|finally|also|next|afterwards|after that)\b").unwrap()
});

/// Clauses of a request, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    clauses: Vec<Clause>,
}

/// Clause of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Clause {
    text: String,
    terms: Vec<Term>,
    /// Subset of `terms` that are written like values.
    values: Vec<Term>,
}

impl Request {
    /// Splits a text into clauses.
    pub fn read(text: &str) -> Self {
        let parts = BETWEEN.splitn(text, MAX_CLAUSES).map(str::trim);
        let clauses =
            parts.map(|part| Clause { text: part.to_owned(), terms: terms(&said_words(part)), values: values(part) });
        Self { clauses: clauses.filter(|clause| !clause.terms.is_empty()).collect() }
    }

    /// Returns the texts of the clauses, whose vectors can be passed to [`Producers::ask`](super::Producers::ask).
    pub fn texts(&self) -> Vec<String> {
        self.clauses.iter().map(|clause| clause.text.clone()).collect()
    }

    /// Returns the distinct terms of each clause, in ascending order.
    pub(super) fn clauses(&self) -> impl ExactSizeIterator<Item = &[Term]> {
        self.clauses.iter().map(|clause| clause.terms.as_slice())
    }

    /// Returns the terms of a clause that are written like values. They only refer to tools that contain them.
    pub(super) fn values(&self, clause: usize) -> &[Term] {
        self.clauses.get(clause).map_or(&[], |clause| &clause.values)
    }
}

/// Returns the terms that are numbers, times or proper names: words with a digit, or capitalized words other than the
/// first.
fn values(clause: &str) -> Vec<Term> {
    let words = clause.split_whitespace().enumerate();
    let values = words.filter(|(at, word)| {
        let first = word.chars().find(|letter| letter.is_alphanumeric());
        word.contains(char::is_numeric) || *at > 0 && first.is_some_and(char::is_uppercase)
    });
    terms(&values.flat_map(|(_, word)| said_words(word)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_one_after_the_other_is_told_apart() {
        let request = Request::read("Find a room for 9.30, book it, and then tell Jack. Thanks!");
        assert_eq!(request.texts(), ["Find a room for 9.30", "book it", "tell Jack", "Thanks!"]);
        assert!(Request::read(" , . the and ").texts().is_empty());
    }

    #[test]
    fn numbers_and_names_are_values() {
        let request = Request::read("Book a room for Jack from 9:30 to 10");
        let expected: Vec<String> = ["jack", "9", "30", "10"].map(str::to_owned).into();
        assert_eq!(request.values(0), terms(&expected));
        assert!(Request::read("Rooms").values(0).is_empty());
        assert!(request.values(1).is_empty());
    }

    #[test]
    fn a_request_of_any_length_has_a_bounded_number_of_clauses() {
        let request = Request::read(&"room one, ".repeat(1000));
        assert_eq!(request.clauses().len(), MAX_CLAUSES);
    }
}
