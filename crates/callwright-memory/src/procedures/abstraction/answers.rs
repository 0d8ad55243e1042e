//! Index of the values in the answers of earlier calls.

use std::collections::HashMap;

use serde_json::Value;

use callwright_common::json::{Pointer, scalar_text};
use callwright_common::limits::SEARCHED_DEPTH;
use callwright_common::text::is_digits;
use callwright_types::plan::Item;

/// Maximum number of values considered per answer.
const MAX_VALUES: usize = 10_000;

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
    locations: HashMap<String, Vec<AnswerLocation>>,
}

impl AnswerIndex {
    /// Returns the locations of a value, in the order of the calls and of their answers.
    pub(super) fn locations(&self, value: &Value) -> &[AnswerLocation] {
        key(value).and_then(|key| self.locations.get(&key)).map_or(&[], Vec::as_slice)
    }

    /// Adds the answer of a call.
    pub(super) fn add(&mut self, step: usize, answer: &Value) {
        let mut walker = AnswerWalker { step, values: Vec::new(), columns: Vec::new(), remaining: MAX_VALUES };
        walker.visit(answer, &Pointer::root(), None, 0);
        let AnswerWalker { values, columns, .. } = walker;
        for (value, location) in values {
            self.insert(&value, location);
        }
        for (output, values) in columns {
            self.insert(&Value::Array(values), AnswerLocation { step, output, item: Item::Whole, index: None });
        }
    }

    fn insert(&mut self, value: &Value, location: AnswerLocation) {
        let Some(key) = key(value) else { return };
        let locations = self.locations.entry(key).or_default();
        // The same value in several items of a list counts as one location.
        if !locations.iter().any(|existing| {
            (existing.step, &existing.output, existing.item) == (location.step, &location.output, location.item)
        }) {
            locations.push(location);
        }
    }
}

struct AnswerWalker {
    step: usize,
    values: Vec<(Value, AnswerLocation)>,
    /// Scalars of all items of a list at the same pointer.
    columns: Vec<(Pointer, Vec<Value>)>,
    remaining: usize,
}

impl AnswerWalker {
    fn visit(&mut self, value: &Value, pointer: &Pointer, index: Option<usize>, depth: usize) {
        if self.remaining == 0 || depth > SEARCHED_DEPTH {
            return;
        }
        self.remaining -= 1;
        let item = if index.is_some() { Item::Chosen } else { Item::Whole };
        let location = AnswerLocation { step: self.step, output: pointer.clone(), item, index };
        match value {
            Value::Array(items) => {
                self.values.push((value.clone(), location));
                let below = pointer.item(0);
                items.iter().enumerate().for_each(|(number, item)| {
                    self.visit(item, &below, index.or(Some(number)), depth + 1);
                });
            }
            Value::Object(members) => {
                self.values.push((value.clone(), location));
                // A member with a numeric name cannot be distinguished from a list index.
                for (name, member) in members.iter().filter(|(name, _)| !is_digits(name)) {
                    self.visit(member, &pointer.child(name), index, depth + 1);
                }
            }
            Value::Null => {}
            scalar => {
                if index.is_some() {
                    match self.columns.iter_mut().find(|(output, _)| output == pointer) {
                        Some((_, values)) => values.push(scalar.clone()),
                        None => self.columns.push((pointer.clone(), vec![scalar.clone()])),
                    }
                }
                self.values.push((scalar.clone(), location));
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

    fn locations(answer: &Value, value: &Value) -> Vec<(String, Item, Option<usize>)> {
        let mut answers = AnswerIndex::default();
        answers.add(0, answer);
        let parts = |location: &AnswerLocation| (location.output.as_str().to_owned(), location.item, location.index);
        answers.locations(value).iter().map(parts).collect()
    }

    #[test]
    fn values_are_located_in_answers() {
        let answer = json!({"total": 2, "rooms": [{"id": "A-1", "seats": 8}, {"id": "B-2", "seats": 8}]});
        assert_eq!(locations(&answer, &json!("B-2")), [("/rooms/0/id".to_owned(), Item::Chosen, Some(1))]);
        assert_eq!(locations(&answer, &json!("2")), [("/total".to_owned(), Item::Whole, None)]);
        assert_eq!(locations(&answer, &json!(["A-1", "B-2"])), [("/rooms/0/id".to_owned(), Item::Whole, None)]);
        assert_eq!(locations(&answer, &answer["rooms"]), [("/rooms".to_owned(), Item::Whole, None)]);
        assert_eq!(locations(&json!("P-17"), &json!("P-17")), [(String::new(), Item::Whole, None)]);
    }

    #[test]
    fn empty_values_have_no_location_and_huge_answers_are_bounded() {
        for nothing in [json!(null), json!([]), json!({})] {
            assert!(locations(&json!({"a": [nothing.clone()]}), &nothing).is_empty());
        }
        let huge: Value = (0..3 * MAX_VALUES).map(|number| json!(format!("v{number}"))).collect();
        assert_eq!(locations(&huge, &json!("v5")).len(), 1);
        assert!(locations(&huge, &json!(format!("v{}", 2 * MAX_VALUES))).is_empty());
        let mut deep = json!("bottom");
        (0..100).for_each(|_| deep = json!([deep]));
        assert!(locations(&deep, &json!("bottom")).is_empty());
    }
}
