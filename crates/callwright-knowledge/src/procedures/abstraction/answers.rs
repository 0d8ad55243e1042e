//! Index of the values in the answers of earlier calls.

use std::collections::HashMap;

use serde_json::Value;

use super::names::is_index;
use callwright_common::json::{Pointer, scalar_text};
use callwright_types::plan::Item;

/// Maximum number of values considered per answer.
const MAX_VALUES: usize = 10_000;

/// Maximum depth of an answer that is searched.
const MAX_DEPTH: usize = 12;

/// Maximum JSON size of a list or object that is compared as a whole, in bytes.
const MAX_WHOLE_BYTES: usize = 4_096;

/// Location of a value in the answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AnswerLocation {
    /// Position of the call that returned it.
    pub(super) step: usize,
    /// Location in its answer; index 0 represents every item of a list.
    pub(super) output: Pointer,
    pub(super) item: Item,
    /// Index of the containing item in the outermost list, if the value is in one.
    pub(super) index: Option<usize>,
}

/// Index of the values of all answers so far.
#[derive(Debug, Default)]
pub(super) struct AnswerIndex {
    places: HashMap<String, Vec<AnswerLocation>>,
}

impl AnswerIndex {
    /// Returns the locations of a value, in the order of the calls and of their answers.
    pub(super) fn places(&self, value: &Value) -> &[AnswerLocation] {
        key(value).and_then(|key| self.places.get(&key)).map_or(&[], Vec::as_slice)
    }

    /// Adds the answer of a call.
    pub(super) fn add(&mut self, step: usize, answer: &Value) {
        let mut walk = AnswerWalker { step, found: Vec::new(), columns: Vec::new(), left: MAX_VALUES };
        walk.go(answer, &Pointer::root(), None, 0);
        let AnswerWalker { found, columns, .. } = walk;
        for (value, place) in found {
            self.insert(&value, place);
        }
        for (output, values) in columns {
            self.insert(&Value::Array(values), AnswerLocation { step, output, item: Item::Whole, index: None });
        }
    }

    fn insert(&mut self, value: &Value, place: AnswerLocation) {
        let Some(key) = key(value) else { return };
        let places = self.places.entry(key).or_default();
        // The same value in several items of a list counts as one location.
        if !places
            .iter()
            .any(|known| (known.step, &known.output, known.item) == (place.step, &place.output, place.item))
        {
            places.push(place);
        }
    }
}

struct AnswerWalker {
    step: usize,
    found: Vec<(Value, AnswerLocation)>,
    /// Scalars of all items of a list at the same pointer.
    columns: Vec<(Pointer, Vec<Value>)>,
    left: usize,
}

impl AnswerWalker {
    fn go(&mut self, value: &Value, at: &Pointer, index: Option<usize>, depth: usize) {
        if self.left == 0 || depth > MAX_DEPTH {
            return;
        }
        self.left -= 1;
        let item = if index.is_some() { Item::Chosen } else { Item::Whole };
        let place = AnswerLocation { step: self.step, output: at.clone(), item, index };
        match value {
            Value::Array(items) => {
                self.found.push((value.clone(), place));
                let below = at.item(0);
                items.iter().enumerate().for_each(|(number, item)| {
                    self.go(item, &below, index.or(Some(number)), depth + 1);
                });
            }
            Value::Object(members) => {
                self.found.push((value.clone(), place));
                // A member with a numeric name cannot be distinguished from a list index.
                for (name, member) in members.iter().filter(|(name, _)| !is_index(name)) {
                    self.go(member, &at.child(name), index, depth + 1);
                }
            }
            Value::Null => {}
            scalar => {
                if index.is_some() {
                    match self.columns.iter_mut().find(|(output, _)| output == at) {
                        Some((_, values)) => values.push(scalar.clone()),
                        None => self.columns.push((at.clone(), vec![scalar.clone()])),
                    }
                }
                self.found.push((scalar.clone(), place));
            }
        }
    }
}

/// Returns a key that is equal for equal values; `7` and `"7"` are equal.
pub(super) fn key(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Bool(flag) => Some(format!("b{flag}")),
        Value::String(_) | Value::Number(_) => scalar_text(value).map(|text| format!("s{}", text.trim())),
        Value::Array(items) if items.is_empty() => None,
        Value::Object(members) if members.is_empty() => None,
        Value::Array(_) | Value::Object(_) => {
            let text = value.to_string();
            (text.len() <= MAX_WHOLE_BYTES).then(|| format!("j{text}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn places(answer: &Value, value: &Value) -> Vec<(String, Item, Option<usize>)> {
        let mut answers = AnswerIndex::default();
        answers.add(0, answer);
        let told = |place: &AnswerLocation| (place.output.as_str().to_owned(), place.item, place.index);
        answers.places(value).iter().map(told).collect()
    }

    #[test]
    fn a_value_is_found_where_it_stands() {
        let answer = json!({"total": 2, "rooms": [{"id": "A-1", "seats": 8}, {"id": "B-2", "seats": 8}]});
        assert_eq!(places(&answer, &json!("B-2")), [("/rooms/0/id".to_owned(), Item::Chosen, Some(1))]);
        assert_eq!(places(&answer, &json!("2")), [("/total".to_owned(), Item::Whole, None)]);
        assert_eq!(places(&answer, &json!(["A-1", "B-2"])), [("/rooms/0/id".to_owned(), Item::Whole, None)]);
        assert_eq!(places(&answer, &answer["rooms"]), [("/rooms".to_owned(), Item::Whole, None)]);
        assert_eq!(places(&json!("P-17"), &json!("P-17")), [(String::new(), Item::Whole, None)]);
    }

    #[test]
    fn what_says_nothing_is_found_nowhere_and_huge_answers_end() {
        for nothing in [json!(null), json!([]), json!({})] {
            assert!(places(&json!({"a": [nothing.clone()]}), &nothing).is_empty());
        }
        let huge: Value = (0..3 * MAX_VALUES).map(|number| json!(format!("v{number}"))).collect();
        assert_eq!(places(&huge, &json!("v5")).len(), 1);
        assert!(places(&huge, &json!(format!("v{}", 2 * MAX_VALUES))).is_empty());
        let mut deep = json!("bottom");
        (0..100).for_each(|_| deep = json!([deep]));
        assert!(places(&deep, &json!("bottom")).is_empty());
    }
}
