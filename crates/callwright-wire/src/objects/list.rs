//! Lists of stored objects.

use bytes::Bytes;
use serde_json::value::RawValue;

use crate::fields::ObjectFields;
use callwright_common::json::{RawObject, raw};

/// Member with the entries.
const DATA: &str = "data";

/// A page of a list.
#[derive(Debug)]
pub struct ObjectList {
    envelope: RawObject,
    entries: Vec<(String, Box<RawValue>)>,
    last: Option<String>,
}

impl ObjectList {
    /// Parses a page; `None` for another answer. Entries without an id are dropped: they have no owner.
    pub fn parse(body: &[u8]) -> Option<Self> {
        let envelope = RawObject::parse_bytes(body).ok()?;
        let entries: Vec<&RawValue> = envelope.get_as(DATA)?;
        let entries = entries.into_iter().filter_map(|entry| {
            let id = ObjectFields::parse(entry.get())?.string("id")?.into_owned();
            Some((id, entry.to_owned()))
        });
        let entries: Vec<_> = entries.collect();
        let last = entries.last().map(|(id, _)| id.clone());
        Some(Self { envelope, entries, last })
    }

    /// Returns the ids of the entries.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(id, _)| id.as_str())
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the page has no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the member of a query and its value that continue the provider's list; `None` at its end.
    pub fn next(&self) -> Option<(&'static str, &str)> {
        let has_more: bool = self.envelope.get_as("has_more").unwrap_or(false);
        // Lists of OpenAI's API name their type.
        let member = if self.envelope.get("object").is_some() { "after" } else { "after_id" };
        self.last.as_deref().filter(|_| has_more).map(|last| (member, last))
    }

    /// Drops the entries that are not wanted.
    pub fn retain(&mut self, is_wanted: impl Fn(&str) -> bool) {
        self.entries.retain(|(id, _)| is_wanted(id));
    }

    /// Appends the entries of the next page.
    pub fn append(&mut self, next: Self) {
        let more = next.envelope.get("has_more").map_or_else(|| raw(&false), ToOwned::to_owned);
        self.envelope.set("has_more", more);
        self.entries.extend(next.entries);
        self.last = next.last.or(self.last.take());
    }

    /// Returns the page with at most `limit` entries.
    pub fn into_bytes(mut self, limit: usize) -> Bytes {
        if self.entries.len() > limit {
            self.entries.truncate(limit);
            self.envelope.set("has_more", raw(&true));
        }
        for (member, entry) in [("first_id", self.entries.first()), ("last_id", self.entries.last())] {
            if self.envelope.get(member).is_some() {
                let id = raw(&entry.map(|(id, _)| id));
                self.envelope.set(member, id);
            }
        }
        let entries: Vec<&RawValue> = self.entries.iter().map(|(_, entry)| &**entry).collect();
        let entries = raw(&entries);
        self.envelope.set(DATA, entries);
        self.envelope.to_raw().get().as_bytes().to_vec().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_the_wanted_entries_of_several() {
        let first =
            r#"{"object":"list","data":[{"id":"a","x":1E1},{"id":"b"}],"first_id":"a","last_id":"b","has_more":true}"#;
        let next = r#"{"object":"list","data":[{"id":"c"},{"id":"d"}],"first_id":"c","last_id":"d","has_more":true}"#;
        let mut list = ObjectList::parse(first.as_bytes()).unwrap();
        assert_eq!(list.next(), Some(("after", "b")));
        list.retain(|id| id == "a");
        assert_eq!(list.next(), Some(("after", "b")), "the provider's cursor");
        let mut more = ObjectList::parse(next.as_bytes()).unwrap();
        more.retain(|id| id == "d");
        list.append(more);
        assert_eq!(list.next(), Some(("after", "d")));
        assert_eq!(
            list.into_bytes(5),
            r#"{"object":"list","data":[{"id":"a","x":1E1},{"id":"d"}],"first_id":"a","last_id":"d","has_more":true}"#
        );
    }

    #[test]
    fn entries_beyond_the_limit_are_on_the_next_page() {
        let list = r#"{"data":[{"id":"a"},{"id":"b"},{"name":"c"}],"last_id":"b","has_more":false}"#;
        let list = ObjectList::parse(list.as_bytes()).unwrap();
        assert_eq!((list.len(), list.next()), (2, None));
        assert_eq!(list.into_bytes(1), r#"{"data":[{"id":"a"}],"last_id":"a","has_more":true}"#);
        assert!(ObjectList::parse(b"[]").is_none() && ObjectList::parse(br#"{"id":"a"}"#).is_none());
    }
}
