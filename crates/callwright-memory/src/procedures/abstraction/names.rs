//! Matches output fields to parameters by their names.

use callwright_common::json::Pointer;
use callwright_common::text::{is_digits, letters, name_words};
use callwright_search::retrieval::stem;

/// Names that do not indicate what they belong to.
const BARE: [&str; 8] = ["code", "id", "identifier", "key", "name", "number", "uuid", "value"];

/// Parameter that takes a value.
#[derive(Debug, Clone, Copy)]
pub(super) struct ValueParameter<'a> {
    pub(super) tool: &'a str,
    pub(super) parameter: &'a str,
}

/// Similarity of a field's name and a parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NameSimilarity {
    /// Whether both names denote the same thing. Then even a common value is attributed to the field.
    pub(super) agrees: bool,
    /// Similarity; 0 if they have nothing in common.
    pub(super) score: f32,
}

/// Returns the score of `output` in the answers of `producer` for a parameter of `tool`; `None` if their names do not
/// match.
pub(in crate::procedures) fn matching_names_score(
    tool: &str,
    parameter: &str,
    producer: &str,
    output: &Pointer,
) -> Option<f32> {
    let similarity = name_similarity(ValueParameter { tool, parameter }, producer, output);
    similarity.agrees.then_some(similarity.score)
}

/// Returns the similarity of the field at `location` in the answers of `producer` and a parameter.
pub(super) fn name_similarity(target: ValueParameter<'_>, producer: &str, location: &Pointer) -> NameSimilarity {
    let tokens = location.tokens();
    let names: Vec<&String> = tokens.iter().filter(|token| !is_digits(token)).collect();
    let field = names.last().map(|token| stems(token)).unwrap_or_default();
    let mut context: Vec<String> = names.iter().flat_map(|token| stems(token)).collect();
    context.extend(stems(producer));
    let mut words = stems(target.parameter);
    let same = names.last().is_some_and(|token| is_same_name(token, target.parameter));
    let bare = words.iter().all(|word| BARE.contains(&word.as_str()));
    if bare {
        // `id` alone is the id of the tool's subject.
        words.extend(stems(target.tool));
    }
    let shared = words.iter().filter(|word| context.contains(word)).count();
    let share = shared as f32 / (words.len().max(1) as f32);
    let is_field = field.last().is_some_and(|last| words.contains(last));
    let is_of_thing = words.iter().any(|word| context.contains(word) && !BARE.contains(&word.as_str()));
    let agrees = if bare { is_field && is_of_thing } else { same || is_field && share >= 1.0 };
    NameSimilarity { agrees, score: share + if same { 1.0 } else { 0.0 } + if is_field { 0.5 } else { 0.0 } }
}

/// Whether two names have the same letters, ignoring case and separators.
pub(super) fn is_same_name(one: &str, other: &str) -> bool {
    letters(one) == letters(other)
}

/// Returns the words of a name in singular.
pub(super) fn stems(name: &str) -> Vec<String> {
    name_words(name).iter().map(|word| stem(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn similarity(tool: &str, parameter: &str, producer: &str, location: &str) -> NameSimilarity {
        name_similarity(ValueParameter { tool, parameter }, producer, &Pointer::from(location))
    }

    #[test]
    fn names_of_the_same_thing_agree() {
        assert!(similarity("book_room", "room_id", "list_rooms", "/rooms/0/id").agrees);
        assert!(similarity("book_room", "personId", "find_person", "/person_id").agrees);
        assert!(similarity("get_room", "id", "list_rooms", "/rooms/0/id").agrees);
        assert!(similarity("book_room", "person_id", "find_person", "/id").agrees);
        assert!(!similarity("book_room", "room_id", "find_person", "/id").agrees);
        assert!(!similarity("get_room", "id", "find_person", "/id").agrees);
        assert!(!similarity("book_room", "guests", "list_rooms", "/rooms/0/id").agrees);
    }

    #[test]
    fn equal_names_score_higher_than_a_shared_word() {
        let same = similarity("pay", "order_id", "create_order", "/order_id");
        let shared = similarity("pay", "order_id", "create_order", "/id");
        let nothing = similarity("pay", "amount", "create_order", "/id");
        assert!(same.score > shared.score && shared.score > nothing.score);
        assert!(nothing.score.abs() < f32::EPSILON);
    }
}
