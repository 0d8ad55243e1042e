//! Chooses a list item by the words of the conversation.

use serde_json::Value;

use callwright_common::json::scalar_text;
use callwright_common::text::spaced_words;

/// Minimum number of characters of a value that is searched for; shorter ones occur in any text.
const MIN_VALUE_CHARS: usize = 2;

/// Maximum depth of an item that is searched.
const DEPTH: usize = 4;

/// Returns the position of the item with the most values in the texts. `None` if no item matches or the best match is
/// ambiguous.
pub fn choose_by_words<'a>(items: impl IntoIterator<Item = &'a Value>, texts: &[&str]) -> Option<usize> {
    let text = spaced_words(&texts.join(" "));
    let named: Vec<usize> = items.into_iter().map(|item| named(item, &text, DEPTH)).collect();
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
            usize::from(value.trim().chars().count() >= MIN_VALUE_CHARS && text.contains(&value))
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
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
