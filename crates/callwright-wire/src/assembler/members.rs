//! Members of deltas, joined generically by their JSON type.

use indexmap::IndexMap;
use serde_json::value::RawValue;

use super::super::content::part_text;
use super::super::fields::{object, raw_value, string_in};
use callwright_common::json::raw;

/// Members of an object that arrives in pieces.
#[derive(Debug, Clone, Default)]
pub(crate) struct Members {
    members: IndexMap<String, MergedMember>,
    /// Number of bytes of all pieces.
    size: usize,
}

/// Accumulated value. Strings and arrays are concatenated; for other values, the last one counts; `null` is ignored.
#[derive(Debug, Clone)]
enum MergedMember {
    Null,
    Text(String),
    /// An array: content may start as parts and continue as a string.
    List(List),
    Other(Box<RawValue>),
}

/// Items so far, and the text after the last item.
#[derive(Debug, Clone, Default)]
struct List {
    items: Vec<Box<RawValue>>,
    tail: String,
    /// Concatenated text of all items and the tail.
    text: String,
}

impl Members {
    /// Adds a piece of the member `key` to its earlier pieces.
    pub(crate) fn push(&mut self, key: &str, piece: &str) {
        self.size += piece.len();
        match self.members.get_mut(key) {
            Some(member) => member.join(piece),
            None => {
                let mut member = MergedMember::Null;
                member.join(piece);
                self.size += key.len();
                self.members.insert(key.to_owned(), member);
            }
        }
    }

    /// Approximate number of bytes kept.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Whether no member was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns the text of a member so far: a string, or the concatenated text parts of an array. It only grows,
    /// unless a server sends a value of another type.
    pub(super) fn text(&self, key: &str) -> &str {
        match self.members.get(key) {
            Some(MergedMember::Text(text)) => text,
            Some(MergedMember::List(list)) => &list.text,
            _ => "",
        }
    }

    /// Removes one member and returns it.
    pub(super) fn take(&mut self, key: &str) -> Option<Box<RawValue>> {
        self.members.shift_remove(key).map(MergedMember::into_raw)
    }

    /// Returns the members, in the order of their first occurrence.
    pub(crate) fn into_fields(self) -> impl Iterator<Item = (String, Box<RawValue>)> {
        self.members.into_iter().map(|(key, member)| (key, member.into_raw()))
    }
}

impl MergedMember {
    fn join(&mut self, piece: &str) {
        if piece == "null" {
            return;
        }
        if let Some(text) = string_in(piece) {
            return self.join_text(&text);
        }
        match serde_json::from_str::<Vec<Box<RawValue>>>(piece) {
            Ok(items) => self.join_items(items),
            Err(_) => *self = Self::Other(raw_value(piece)),
        }
    }

    fn join_text(&mut self, text: &str) {
        match self {
            Self::Text(joined) => joined.push_str(text),
            Self::List(list) => {
                list.tail.push_str(text);
                list.text.push_str(text);
            }
            Self::Null | Self::Other(_) => *self = Self::Text(text.to_owned()),
        }
    }

    fn join_items(&mut self, items: Vec<Box<RawValue>>) {
        match self {
            Self::List(list) => list.extend(items),
            Self::Text(text) => {
                let mut list = List { text: text.clone(), tail: std::mem::take(text), ..List::default() };
                list.extend(items);
                *self = Self::List(list);
            }
            Self::Null | Self::Other(_) => {
                let mut list = List::default();
                list.extend(items);
                *self = Self::List(list);
            }
        }
    }

    fn into_raw(self) -> Box<RawValue> {
        match self {
            Self::Null => raw(&()),
            Self::Text(text) => raw(&text),
            Self::List(mut list) => {
                list.items.extend(text_part(list.tail));
                raw(&list.items)
            }
            Self::Other(value) => value,
        }
    }
}

impl List {
    fn extend(&mut self, items: Vec<Box<RawValue>>) {
        self.items.extend(text_part(std::mem::take(&mut self.tail)));
        items.iter().filter_map(|item| part_text(item)).for_each(|text| self.text.push_str(&text));
        self.items.extend(items);
    }
}

fn text_part(text: String) -> Option<Box<RawValue>> {
    (!text.is_empty()).then(|| object([("type", raw("text")), ("text", raw(&text))]).to_raw())
}

/// Keeps the last value of a member. Most servers repeat the same value in every chunk. Returns the number of bytes that
/// are kept in addition.
pub(crate) fn keep_last(fields: &mut IndexMap<String, Box<RawValue>>, key: &str, value: &str) -> usize {
    match fields.get_mut(key) {
        Some(kept) if kept.get() == value => 0,
        Some(kept) => {
            let further = value.len().saturating_sub(kept.get().len());
            *kept = raw_value(value);
            further
        }
        None => {
            fields.insert(key.to_owned(), raw_value(value));
            key.len() + value.len()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(pieces: &[&str]) -> String {
        let mut members = Members::default();
        for piece in pieces {
            members.push("m", piece);
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

    #[test]
    fn the_text_so_far_is_that_of_strings_and_parts() {
        let mut members = Members::default();
        let mut texts = Vec::new();
        for piece in
            ["null", "\"a\"", "[{\"type\":\"thinking\"},{\"type\":\"text\",\"text\":\"b\"}]", "\"c\"", "[\"d\"]"]
        {
            members.push("content", piece);
            texts.push(members.text("content").to_owned());
        }
        assert_eq!(texts, ["", "a", "ab", "abc", "abcd"]);
    }
}
