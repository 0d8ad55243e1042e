//! Which item of a list is meant, where the conversation says it.

use serde_json::Value;

use callwright_common::json::scalar_text;

/// Letters from which on a value of an item is looked for in what was said: shorter ones are in every text.
const TELLING_CHARS: usize = 2;

/// Levels of an item that are read.
const DEPTH: usize = 4;

/// The position of the item that the texts name more of than of any other: of its values, those that are words of the texts. `None` where no
/// item is named, or several are named as much.
pub fn by_words<'a>(items: impl IntoIterator<Item = &'a Value>, said: &[&str]) -> Option<usize> {
    let said = format!(" {} ", said.iter().map(|text| folded(text)).collect::<Vec<_>>().join(" "));
    let named: Vec<usize> = items.into_iter().map(|item| named(item, &said, DEPTH)).collect();
    let most = *named.iter().max()?;
    let mut best = named.iter().enumerate().filter(|(_, count)| **count == most);
    match (best.next(), best.next()) {
        (Some((at, _)), None) if most > 0 => Some(at),
        _ => None,
    }
}

/// How many values of an item are words of a text.
fn named(item: &Value, said: &str, depth: usize) -> usize {
    match item {
        Value::Object(members) if depth > 0 => members.values().map(|member| named(member, said, depth - 1)).sum(),
        Value::Array(items) if depth > 0 => items.iter().map(|item| named(item, said, depth - 1)).sum(),
        Value::String(_) | Value::Number(_) => {
            let text = folded(&scalar_text(item).unwrap_or_default());
            let tells = text.chars().count() >= TELLING_CHARS;
            usize::from(tells && said.contains(&format!(" {text} ")))
        }
        _ => 0,
    }
}

/// Words in lower case, with one space between them.
fn folded(text: &str) -> String {
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_item_that_was_named_is_meant() {
        let people = [json!({"id": 1, "name": "Jack Miller"}), json!({"id": 2, "name": "Jill"})];
        assert_eq!(by_words(&people, &["Book a room for JILL, please"]), Some(1));
        assert_eq!(by_words(&people, &["for Jack Miller"]), Some(0));
        assert_eq!(by_words(&people, &["for Jack Miller", "and Jill"]), None);
        assert_eq!(by_words(&people, &["for me"]), None);
        assert_eq!(by_words(&[], &["for me"]), None);
        assert_eq!(by_words(&[json!("Ulm"), json!("Bonn")], &["to Bonn"]), Some(1));
    }
}
