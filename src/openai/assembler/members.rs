//! Members of deltas, joined as far as joining makes sense without knowing them.

use indexmap::IndexMap;
use serde_json::value::RawValue;

use super::super::completion::object;
use super::super::fields::{Fields, string};
use crate::domain::json::raw;

/// The members of an object that comes in pieces.
#[derive(Debug, Default)]
pub(super) struct Members(IndexMap<String, Member>);

/// Strings are joined, arrays are joined, of everything else the last counts; `null` says nothing.
#[derive(Debug)]
enum Member {
    Null,
    Text(String),
    /// An array, and text that came after its last item: content may be parts first and a string later.
    List(Vec<Box<RawValue>>, String),
    Other(Box<RawValue>),
}

impl Members {
    /// Joins a piece of the member `key` to what came before.
    pub(super) fn push(&mut self, key: &str, piece: &RawValue) {
        match self.0.get_mut(key) {
            Some(member) => member.join(piece),
            None => {
                let mut member = Member::Null;
                member.join(piece);
                self.0.insert(key.to_owned(), member);
            }
        }
    }

    /// Joins every member of an object.
    pub(super) fn push_all(&mut self, pieces: &Fields<'_>) {
        pieces.iter().for_each(|(key, piece)| self.push(key, piece));
    }

    /// Was nothing pushed?
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes one member out.
    pub(super) fn take(&mut self, key: &str) -> Option<Box<RawValue>> {
        self.0.shift_remove(key).map(Member::into_raw)
    }

    /// The members, in the order in which they came first.
    pub(super) fn into_fields(self) -> impl Iterator<Item = (String, Box<RawValue>)> {
        self.0.into_iter().map(|(key, member)| (key, member.into_raw()))
    }
}

impl Member {
    fn join(&mut self, piece: &RawValue) {
        if piece.get() == "null" {
            return;
        }
        if let Some(text) = string(piece) {
            return self.join_text(&text);
        }
        match serde_json::from_str::<Vec<Box<RawValue>>>(piece.get()) {
            Ok(items) => self.join_items(items),
            Err(_) => *self = Self::Other(piece.to_owned()),
        }
    }

    fn join_text(&mut self, text: &str) {
        match self {
            Self::Text(joined) | Self::List(_, joined) => joined.push_str(text),
            Self::Null | Self::Other(_) => *self = Self::Text(text.to_owned()),
        }
    }

    fn join_items(&mut self, items: Vec<Box<RawValue>>) {
        match self {
            Self::List(joined, text) => {
                joined.extend(text_part(std::mem::take(text)));
                joined.extend(items);
            }
            Self::Text(text) => {
                let before = text_part(std::mem::take(text));
                *self = Self::List(before.into_iter().chain(items).collect(), String::new());
            }
            Self::Null | Self::Other(_) => *self = Self::List(items, String::new()),
        }
    }

    fn into_raw(self) -> Box<RawValue> {
        match self {
            Self::Null => raw(&()),
            Self::Text(text) => raw(&text),
            Self::List(mut items, text) => {
                items.extend(text_part(text));
                raw(&items)
            }
            Self::Other(value) => value,
        }
    }
}

fn text_part(text: String) -> Option<Box<RawValue>> {
    (!text.is_empty()).then(|| object([("type", raw("text")), ("text", raw(&text))]).to_raw())
}

/// Keeps the last value of a member. Most servers repeat the same in every chunk.
pub(super) fn keep_last(fields: &mut IndexMap<String, Box<RawValue>>, key: &str, value: &RawValue) {
    match fields.get_mut(key) {
        Some(kept) if kept.get() == value.get() => {}
        Some(kept) => *kept = value.to_owned(),
        None => {
            fields.insert(key.to_owned(), value.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(pieces: &[&str]) -> String {
        let mut members = Members::default();
        for piece in pieces {
            members.push("m", &serde_json::from_str::<Box<RawValue>>(piece).unwrap());
        }
        members.take("m").unwrap().get().to_owned()
    }

    #[test]
    fn strings_and_arrays_are_joined_and_the_last_of_others_counts() {
        assert_eq!(joined(&["null", "\"a\"", "null", "\"b\""]), "\"ab\"");
        assert_eq!(joined(&["[1.0]", "[]", "[{\"x\": 2}]"]), "[1.0,{\"x\": 2}]");
        assert_eq!(joined(&["{\"a\":1}", "{\"b\":1}"]), "{\"b\":1}");
        assert_eq!(joined(&["null"]), "null");
    }

    #[test]
    fn parts_and_strings_of_one_content_become_parts() {
        assert_eq!(
            joined(&["\"a\"", "[{\"type\":\"thinking\"}]", "\"b\"", "\"c\""]),
            r#"[{"type":"text","text":"a"},{"type":"thinking"},{"type":"text","text":"bc"}]"#
        );
    }
}
