//! Comparable features of an argument or an output field.

use std::sync::Arc;

use super::vocabulary::{ToolTermCounts, WeightedTerms, union};
use super::words::{content_words, identifies, is_verb, name_words, terms};
use callwright_common::limits::LINE_CHARS;
use callwright_common::text::beginning;
use callwright_search::retrieval::{Term, is_stop_word};
use callwright_types::{OutputField, ValueKind};

/// Number of leading words of a description that define the value; later words describe its use.
const FIRST_WORDS: usize = 6;

/// Features of an argument or a field, independent of its tool; many tools share one profile.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Profile {
    /// Words of its name.
    pub(super) words: WeightedTerms,
    pub(super) description_words: WeightedTerms,
    /// Words of its name and description.
    pub(super) all_words: WeightedTerms,
    /// Name without separators.
    pub(super) whole: Term,
    /// Name of the key that it is, such as `person_id`, also for the `id` of a person; `None` if it is no key.
    pub(super) key: Option<Term>,
    /// Things in its name: `person` in `person_id`.
    pub(super) things: Box<[Term]>,
    /// Words of its schema or containing member, and of its description.
    pub(super) holders: Box<[Term]>,
    /// Whether its name contains an identifying word.
    pub(super) identifies: bool,
    /// Whether its description starts with an identifying word.
    pub(super) description_identifies: bool,
    pub(super) kind: Option<ValueKind>,
    pub(super) format: Option<Term>,
    /// Allowed values, in ascending order like `examples`.
    pub(super) values: Box<[Term]>,
    pub(super) examples: Box<[Term]>,
    pub(super) schema: Option<Term>,
}

/// Source of a [`Profile`]; equal for all that share it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ProfileSource {
    pub(super) name: String,
    pub(super) description: Arc<str>,
    pub(super) owner: Option<Arc<str>>,
    pub(super) kind: Option<ValueKind>,
    pub(super) format: Option<Arc<str>>,
    pub(super) values: Arc<[String]>,
    pub(super) examples: Arc<[String]>,
    pub(super) schema: Option<Arc<str>>,
}

impl ProfileSource {
    /// Converts an output field, or an argument in the form of one.
    pub(super) fn new(field: &OutputField) -> Self {
        Self {
            name: field.name().into_owned(),
            description: Arc::clone(&field.description),
            owner: field.owner.clone(),
            kind: field.kind,
            format: field.format.clone(),
            values: Arc::clone(&field.values),
            examples: Arc::clone(&field.examples),
            schema: field.schema.clone(),
        }
    }
}

impl Profile {
    pub(super) fn new(source: &ProfileSource, vocabulary: &ToolTermCounts) -> Self {
        let named = name_words(&source.name);
        let description = content_words(&source.description);
        let (words, description_words) = (vocabulary.weigh(&terms(&named)), vocabulary.weigh(&terms(&description)));
        let owner = source.owner.as_deref().map(name_words).unwrap_or_default();
        Self {
            all_words: union(&words, &description_words),
            whole: whole(&named),
            key: key(&named, &owner),
            things: things(&named),
            holders: terms(&owner.iter().chain(&description).cloned().collect::<Vec<_>>()).into(),
            identifies: is_identifier(&named),
            description_identifies: description_begins_with_identifier(&source.description),
            kind: source.kind,
            format: source.format.as_deref().map(Term::of),
            values: folded(&source.values),
            examples: folded(&source.examples),
            schema: source.schema.as_deref().map(Term::of),
            words,
            description_words,
        }
    }

    /// Whether its name or description identifies a thing.
    pub(super) fn is_identifying(&self) -> bool {
        self.identifies || self.description_identifies
    }

    /// Whether its name only states that it is an identifier, like `id`.
    pub(super) fn is_bare(&self) -> bool {
        self.identifies && self.things.is_empty()
    }
}

/// Whether a name marks an identifier. A number does so at its end: `account_number`, but not `number_of_rooms` or
/// `num_offers`.
fn is_identifier(named: &[String]) -> bool {
    let last = named.len().saturating_sub(1);
    named.iter().enumerate().any(|(at, word)| identifies(word) && (word != COUNT_WORD || at == last))
}

/// Whether a description begins with an identifying word, except a count (`number of`).
fn description_begins_with_identifier(description: &str) -> bool {
    let words = name_words(beginning(description, LINE_CHARS));
    let mut first_words = words.iter().enumerate().filter(|(_, word)| !is_stop_word(word)).take(FIRST_WORDS);
    first_words.any(|(at, word)| {
        identifies(word) && !(word == COUNT_WORD && words.get(at + 1).is_some_and(|next| next == "of"))
    })
}

/// Word that counts things unless it ends a name.
const COUNT_WORD: &str = "number";

/// Returns the name of a field or an argument without separators.
pub(super) fn whole(words: &[String]) -> Term {
    Term::of(&words.concat())
}

fn key(named: &[String], owner: &[String]) -> Option<Term> {
    match (is_identifier(named), things(named).is_empty()) {
        (true, false) => Some(whole(named)),
        (true, true) if !owner.is_empty() => Some(Term::of(&format!("{}{}", owner.concat(), named.concat()))),
        _ => None,
    }
}

/// Returns the words of a name that denote a thing, without identifying words. Verbs denote nothing beside other words;
/// alone, they are nouns: `order_id`, `post_id`.
pub(super) fn things(words: &[String]) -> Box<[Term]> {
    let mut things: Vec<String> = words.iter().filter(|word| !identifies(word)).cloned().collect();
    if things.iter().any(|word| !is_verb(word)) {
        things.retain(|word| !is_verb(word));
    }
    terms(&things).into()
}

/// Returns the words of a tool's name that denote a thing: without identifying words and the first verb, which is the
/// tool's action.
pub(super) fn subjects(words: &[String]) -> Box<[Term]> {
    let verb = words.iter().position(|word| is_verb(word));
    let things = words.iter().enumerate().filter(|(at, word)| Some(*at) != verb && !identifies(word));
    terms(&things.map(|(_, word)| word.clone()).collect::<Vec<_>>()).into()
}

fn folded(texts: &[String]) -> Box<[Term]> {
    terms(&texts.iter().map(|text| text.trim().to_lowercase()).collect::<Vec<_>>()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(name: &str, description: &str) -> Profile {
        let field =
            OutputField { pointer: format!("/{name}"), description: description.into(), ..OutputField::default() };
        Profile::new(&ProfileSource::new(&field), &ToolTermCounts::default())
    }

    #[test]
    fn the_notation_of_a_name_does_not_matter() {
        assert_eq!(profile("personId", "").whole, profile("person_id", "").whole);
        assert_eq!(profile("PersonID", "").things, profile("person_id", "").things);
    }

    #[test]
    fn a_verb_alone_is_a_noun() {
        assert_eq!(profile("order_id", "").things, [Term::of("order")].into());
        assert_eq!(profile("update_order_status_id", "").things, profile("status_id", "").things);
        let words = |name: &str| name_words(name);
        assert_eq!(subjects(&words("get_order")), [Term::of("order")].into());
        assert_eq!(subjects(&words("order_pizza")), [Term::of("pizza")].into());
    }

    #[test]
    fn a_number_identifies_at_the_end_of_a_name() {
        assert!(profile("account_number", "").identifies && !profile("num_offers", "").identifies);
        assert!(!profile("total", "The number of rooms").is_identifying());
        assert!(profile("room", "The number on the door").is_identifying());
    }

    #[test]
    fn identifiers_are_recognised_by_name_or_description() {
        assert!(profile("person_id", "").identifies && !profile("person_id", "").is_bare());
        assert!(profile("id", "").is_bare());
        assert!(profile("country", "ISO 3166 code, such as NO").is_identifying());
        assert!(
            !profile("message", "What is written to everybody who takes part in the next meeting, before the code.")
                .is_identifying()
        );
    }
}
