//! Extracts the value that a plan references from an answer.

use serde_json::Value;

use callwright_common::json::scalar_text;
use callwright_common::text::{is_digits, letters, spaced_words};
use callwright_types::plan::{Item, Reference};

/// Maximum number of items of one answer that are considered.
const MAX_ITEMS: usize = 1_000;

/// Maximum depth of the search for a field at an undocumented location.
const SEARCHED_DEPTH: usize = 8;

/// Maximum depth of the search of an item for values of the texts.
const ITEM_DEPTH: usize = 4;

/// Result of a lookup in an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ValueLookup {
    Nothing,
    Value(Value),
    /// List items with their values.
    Items(Vec<(Value, Value)>),
}

/// Returns the referenced value. Because answers deviate from their documentation, unambiguous alternatives are
/// accepted: a list instead of one value, one value instead of a list, a scalar answer itself, and a field elsewhere
/// whose name is unique.
pub(super) fn find(output: &Value, reference: &Reference) -> ValueLookup {
    let tokens = reference.output.tokens();
    let mut walker = ValueWalker { found: Vec::new(), in_list: false };
    walker.go(output, &tokens, None);
    if walker.found.is_empty() && !tokens.is_empty() {
        if !output.is_array() && !output.is_object() && !output.is_null() {
            return ValueLookup::Value(output.clone());
        }
        let named = tokens.iter().rev().find(|token| !is_digits(token));
        let mut elsewhere = Vec::new();
        if let Some(name) = named {
            fields(output, name, SEARCHED_DEPTH, &mut elsewhere);
        }
        return match elsewhere.as_slice() {
            [only] => ValueLookup::Value((*only).clone()),
            _ => ValueLookup::Nothing,
        };
    }
    match (reference.item, walker.in_list) {
        (Item::Index(index), true) => {
            walker.found.into_iter().nth(index).map_or(ValueLookup::Nothing, |(_, value)| ValueLookup::Value(value))
        }
        (_, true) if !walker.found.is_empty() => ValueLookup::Items(walker.found),
        _ => walker.found.into_iter().next().map_or(ValueLookup::Nothing, |(_, value)| ValueLookup::Value(value)),
    }
}

/// Returns every value that a call may take for this reference.
pub(super) fn all(output: &Value, reference: &Reference) -> Vec<Value> {
    match find(output, reference) {
        ValueLookup::Nothing => Vec::new(),
        ValueLookup::Value(Value::Array(items)) => std::iter::once(Value::Array(items.clone())).chain(items).collect(),
        ValueLookup::Value(value) => vec![value],
        ValueLookup::Items(items) if reference.item == Item::Whole => {
            vec![Value::Array(items.into_iter().map(|(_, value)| value).collect())]
        }
        ValueLookup::Items(items) => items.into_iter().map(|(_, value)| value).collect(),
    }
}

/// Replaces the placeholders `{1}`, `{2}` in the strings of a template by the outputs.
pub(super) fn composed(template: &Value, outputs: &[Value]) -> Value {
    match template {
        Value::String(text) => filled(text, outputs),
        Value::Array(items) => items.iter().map(|item| composed(item, outputs)).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, member)| (name.clone(), composed(member, outputs))).collect()
        }
        other => other.clone(),
    }
}

fn filled(text: &str, outputs: &[Value]) -> Value {
    let numbered = outputs.iter().enumerate().map(|(at, output)| (format!("{{{}}}", at + 1), output));
    let mut text = text.to_owned();
    for (placeholder, output) in numbered {
        if text == placeholder {
            return output.clone();
        }
        // Inserted text is not scanned again, because an answer may contain `{2}`.
        let parts: Vec<&str> = text.split(&placeholder).collect();
        let written = scalar_text(output).unwrap_or_else(|| output.to_string());
        if parts.len() > 1 {
            text = parts.join(&written.replace('{', "\u{0}"));
        }
    }
    Value::String(text.replace('\u{0}', "{"))
}

struct ValueWalker {
    found: Vec<(Value, Value)>,
    /// Whether the path contained a list.
    in_list: bool,
}

impl ValueWalker {
    /// `item` is the current item of the outermost list.
    fn go(&mut self, at: &Value, tokens: &[String], item: Option<&Value>) {
        if self.found.len() >= MAX_ITEMS {
            return;
        }
        let Some((token, rest)) = tokens.split_first() else {
            if !at.is_null() {
                self.found.push((item.unwrap_or(at).clone(), at.clone()));
            }
            return;
        };
        match at {
            Value::Array(items) => {
                self.in_list = true;
                let rest = if is_digits(token) { rest } else { tokens };
                items.iter().for_each(|each| self.go(each, rest, item.or(Some(each))));
            }
            Value::Object(members) => match members.get(token) {
                Some(member) => self.go(member, rest, item),
                // One value instead of the documented list.
                None if is_digits(token) => self.go(at, rest, item),
                None => {}
            },
            _ => {}
        }
    }
}

/// Collects the values of all fields of this name, ignoring case and punctuation.
fn fields<'a>(at: &'a Value, name: &str, depth: usize, found: &mut Vec<&'a Value>) {
    if depth == 0 || found.len() > 1 {
        return;
    }
    match at {
        Value::Object(members) => {
            for (key, member) in members {
                if is_same_name(key, name) && !member.is_null() {
                    found.push(member);
                } else {
                    fields(member, name, depth - 1, found);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| fields(item, name, depth - 1, found)),
        _ => {}
    }
}

fn is_same_name(one: &str, other: &str) -> bool {
    letters(one) == letters(other)
}

/// Returns the position of the item with the most values in the texts. `None` if no item matches or the best match is
/// ambiguous.
pub fn choose_by_words<'a>(items: impl IntoIterator<Item = &'a Value>, texts: &[&str]) -> Option<usize> {
    let text = spaced_words(&texts.join(" "));
    let named: Vec<usize> = items.into_iter().map(|item| named(item, &text, ITEM_DEPTH)).collect();
    let most = *named.iter().max()?;
    let mut best = named.iter().enumerate().filter(|(_, count)| **count == most);
    match (best.next(), best.next()) {
        (Some((at, _)), None) if most > 0 => Some(at),
        _ => None,
    }
}

/// Returns how many values of an item occur in a text.
fn named(item: &Value, text: &str, depth: usize) -> usize {
    match item {
        Value::Object(members) if depth > 0 => members.values().map(|member| named(member, text, depth - 1)).sum(),
        Value::Array(items) if depth > 0 => items.iter().map(|item| named(item, text, depth - 1)).sum(),
        Value::String(_) | Value::Number(_) => {
            let value = spaced_words(&scalar_text(item).unwrap_or_default());
            // A single character occurs in any text.
            usize::from(value.trim().chars().count() > 1 && text.contains(&value))
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use callwright_common::json::Pointer;

    fn reference(output: &str, item: Item) -> Reference {
        Reference { node: "a".to_owned(), output: Pointer::from(output), item }
    }

    fn found(output: &Value, pointer: &str, item: Item) -> ValueLookup {
        find(output, &reference(pointer, item))
    }

    #[test]
    fn a_value_is_taken_from_its_documented_location() {
        let output = json!({"user": {"id": 7}, "rooms": [{"id": "A", "seats": [1, 2]}, {"id": "B", "seats": [3]}]});
        assert_eq!(found(&output, "/user/id", Item::Whole), ValueLookup::Value(json!(7)));
        assert_eq!(found(&output, "", Item::Whole), ValueLookup::Value(output.clone()));
        assert_eq!(found(&output, "/rooms/0/id", Item::Index(1)), ValueLookup::Value(json!("B")));
        assert_eq!(found(&output, "/rooms/0/id", Item::Index(2)), ValueLookup::Nothing);
        let items = vec![(output["rooms"][0].clone(), json!("A")), (output["rooms"][1].clone(), json!("B"))];
        assert_eq!(found(&output, "/rooms/0/id", Item::Chosen), ValueLookup::Items(items.clone()));
        assert_eq!(found(&output, "/rooms/0/id", Item::Whole), ValueLookup::Items(items));
        assert_eq!(all(&output, &reference("/rooms/0/id", Item::Whole)), [json!(["A", "B"])]);
        assert_eq!(all(&output, &reference("/rooms/0/id", Item::Chosen)), [json!("A"), json!("B")]);
        assert_eq!(all(&output, &reference("/rooms/0/seats/0", Item::Chosen)), [json!(1), json!(2), json!(3)]);
        assert_eq!(found(&output, "/rooms", Item::Whole), ValueLookup::Value(output["rooms"].clone()));
    }

    #[test]
    fn unambiguous_deviations_from_the_documentation_are_accepted() {
        assert_eq!(found(&json!("P-17"), "/id", Item::Whole), ValueLookup::Value(json!("P-17")));
        assert_eq!(found(&json!({"id": "A"}), "/0/id", Item::Chosen), ValueLookup::Value(json!("A")));
        assert_eq!(
            found(&json!([{"id": "A"}, {"id": "B"}]), "/id", Item::Whole),
            ValueLookup::Items(vec![(json!({"id": "A"}), json!("A")), (json!({"id": "B"}), json!("B"))])
        );
        assert_eq!(found(&json!({"data": {"personId": 4}}), "/person_id", Item::Whole), ValueLookup::Value(json!(4)));
        let twice = json!({"data": {"id": 1}, "owner": {"id": 2}});
        assert_eq!(found(&twice, "/id", Item::Whole), ValueLookup::Nothing);
        for nothing in [json!(null), json!({}), json!([]), json!({"id": null})] {
            assert_eq!(found(&nothing, "/id", Item::Chosen), ValueLookup::Nothing, "{nothing}");
        }
    }

    #[test]
    fn placeholders_are_replaced_once() {
        let outputs = [json!("{2}"), json!(5)];
        assert_eq!(composed(&json!({"q": ["{1}", "a {1}-{2}", "{2}"]}), &outputs), json!({"q": ["{2}", "a {2}-5", 5]}));
        assert_eq!(composed(&json!(7), &outputs), json!(7));
    }
}

#[cfg(test)]
mod choice_tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_item_with_most_values_in_the_texts_is_chosen() {
        let people = [json!({"id": 1, "name": "Jack Miller"}), json!({"id": 2, "name": "Jill"})];
        assert_eq!(choose_by_words(&people, &["Book a room for JILL, please"]), Some(1));
        assert_eq!(choose_by_words(&people, &["for Jack Miller"]), Some(0));
        assert_eq!(choose_by_words(&people, &["for Jack Miller", "and Jill"]), None);
        assert_eq!(choose_by_words(&people, &["for me"]), None);
        assert_eq!(choose_by_words(&[], &["for me"]), None);
        assert_eq!(choose_by_words(&[json!("Ulm"), json!("Bonn")], &["to Bonn"]), Some(1));
    }
}
