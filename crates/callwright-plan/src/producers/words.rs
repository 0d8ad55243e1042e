//! Splits names and descriptions into comparable words.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use callwright_search::retrieval::{Term, is_stop_word, stem};

/// Abbreviations in API names and their full forms.
static ABBREVIATIONS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    pairs(
        "acct account, addr address, amt amount, avg average, cat category, cnt count, curr currency, dept department, \
         desc description, dest destination, dst destination, img image, lang language, lat latitude, lng longitude, \
         loc location, lon longitude, max maximum, min minimum, msg message, num number, org organization, pic picture, \
         prod product, qty quantity, ref reference, repo repository, src source, tel telephone, tz timezone",
    )
});

/// Words in names of identifiers, whose values are usually looked up.
static IDENTIFYING: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    words_of(
        "abbreviation code guid handle hash iban id identifier isbn iso key number reference sku slug symbol \
         ticker token username uuid",
    )
});

/// Identifying words whose values are opaque. Country codes or stock symbols are not, because users and models know
/// them.
const OPAQUE: [&str; 7] = ["guid", "hash", "id", "identifier", "reference", "sku", "uuid"];

/// Verbs of tool names that only read.
static READING: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    words_of(
        "analyze autocomplete browse calculate check compare compute convert count describe detect download \
         estimate export fetch filter find get head list locate lookup look query read resolve retrieve search \
         show translate validate view",
    )
});

/// Verbs of tool names that change state.
const WRITING: [&str; 40] = [
    "accept", "add", "apply", "approve", "assign", "attach", "book", "buy", "cancel", "clear", "close", "create",
    "delete", "deploy", "disable", "enable", "insert", "make", "merge", "move", "order", "patch", "pay", "play",
    "post", "publish", "purchase", "put", "register", "reject", "remove", "reserve", "schedule", "send", "set",
    "start", "stop", "submit", "update", "write",
];

/// Irregular plurals.
static IRREGULAR: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    pairs(
        "analyses analysis, children child, criteria criterion, feet foot, indices index, matrices matrix, men man, \
         mice mouse, people person, teeth tooth, vertices vertex, women woman",
    )
});

/// Returns the pairs of a list such as `a b, c d`.
fn pairs(list: &'static str) -> HashMap<&'static str, &'static str> {
    list.split(", ").filter_map(|pair| pair.split_once(' ')).collect()
}

fn words_of(list: &'static str) -> HashSet<&'static str> {
    list.split(' ').collect()
}

/// Returns the words of a name: singular, lower case, without abbreviations.
pub(crate) fn name_words(name: &str) -> Vec<String> {
    callwright_common::text::name_words(name).iter().map(|word| in_full(&stem(singular(word))).to_owned()).collect()
}

fn singular(word: &str) -> &str {
    IRREGULAR.get(word).copied().unwrap_or(word)
}

/// Returns the words of a text or a tool's name without stop words.
pub(super) fn content_words(text: &str) -> Vec<String> {
    let mut words = name_words(text);
    words.retain(|word| !is_stop_word(word));
    words
}

/// Returns the distinct terms in ascending order, for comparison in one pass.
pub(super) fn terms(words: &[String]) -> Vec<Term> {
    let mut terms: Vec<Term> = words.iter().map(|word| Term::of(word)).collect();
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// Whether a word in a name marks an identifier.
pub(crate) fn identifies(word: &str) -> bool {
    IDENTIFYING.contains(word)
}

/// Whether a word in a name marks an opaque identifier.
pub(crate) fn is_opaque(word: &str) -> bool {
    OPAQUE.binary_search(&word).is_ok()
}

/// Whether a word is a verb of tool names.
pub(crate) fn is_verb(word: &str) -> bool {
    READING.contains(word) || WRITING.binary_search(&word).is_ok()
}

/// Whether a tool of this name changes state, judged by its first verb. Without a verb, it is assumed to read.
pub(crate) fn writes(words: &[String]) -> bool {
    words.iter().find(|word| is_verb(word)).is_some_and(|verb| WRITING.binary_search(&verb.as_str()).is_ok())
}

fn in_full(word: &str) -> &str {
    ABBREVIATIONS.get(word).copied().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_are_searched_are_in_order() {
        assert!(WRITING.is_sorted() && OPAQUE.is_sorted());
        assert!(OPAQUE.iter().all(|word| identifies(word)));
    }

    #[test]
    fn names_are_split_in_any_notation() {
        for name in ["sender_accounts", "SenderAccount", "sender-acct", "Sender account"] {
            assert_eq!(name_words(name), ["sender", "account"], "{name}");
        }
        assert_eq!(name_words("number_of_rooms"), ["number", "of", "room"]);
        assert_eq!(content_words("the_number_of_rooms"), ["number", "room"]);
        assert_eq!(name_words("listPeople"), name_words("list_person"));
        assert!(name_words("…").is_empty());
    }

    #[test]
    fn the_first_verb_of_a_name_decides_whether_the_tool_writes() {
        let writes = |name: &str| writes(&name_words(name));
        assert!(writes("Hotels.BookHouse") && writes("createOrder") && writes("order_pizza"));
        assert!(!writes("get_order") && !writes("searchBooks") && !writes("weather"));
    }
}
