//! Members of a request, and what the proxy appends to them.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::Error;
use serde_json::value::RawValue;

use crate::RequestError;
use crate::scanner::{Scanned, Scanner};
use callwright_common::json::RawObject;
use callwright_common::limits::BUFFER_BYTES;

/// Members of a request, in order, as places in its text, so that they are neither parsed nor copied. Look-ups return the
/// last of duplicate keys.
#[derive(Debug, Clone)]
pub(crate) struct RequestFields {
    text: Arc<str>,
    members: Vec<(Box<str>, MemberValue)>,
}

/// Part of the received text, or one that the proxy wrote.
#[derive(Debug, Clone)]
enum MemberValue {
    Received(Range<usize>),
    Written(Box<RawValue>),
}

impl RequestFields {
    /// Parses the text of a request.
    ///
    /// # Errors
    /// Fails if it is not a JSON object in UTF-8.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, serde_json::Error> {
        let members = std::str::from_utf8(text).ok().and_then(|text| Self::scan(text).ok()?);
        // The scanner does not describe the error.
        members.map_or_else(|| RawObject::parse_bytes(text).and(Err(Error::custom("not an object"))), Ok)
    }

    /// Reads the text of an object; `None` if it is none.
    fn scan(text: &str) -> Scanned<Option<Self>> {
        let mut scanner = Scanner::new(text);
        let mut members = Vec::with_capacity(8);
        let is_object = scanner.object(|scanner, key| {
            let start = scanner.start_of_value();
            if key == "tools" { skip_tools(scanner) } else { scanner.skip() }?;
            members.push((key.into(), MemberValue::Received(start..scanner.position())));
            Ok(())
        })?;
        scanner.end()?;
        Ok(is_object.then(|| Self { text: text.into(), members }))
    }

    /// Returns the text of a member that is present and not `null`.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        let (_, value) = self.members.iter().rev().find(|(name, _)| **name == *key)?;
        Some(self.text_of(value)).filter(|value| *value != "null")
    }

    /// Returns a member deserialised as `T`; `None` if it is absent or has a different type.
    pub(crate) fn get_as<'a, T: Deserialize<'a>>(&'a self, key: &str) -> Option<T> {
        serde_json::from_str(self.get(key)?).ok()
    }

    /// Whether there is a member with this name.
    pub(super) fn contains(&self, key: &str) -> bool {
        self.members.iter().any(|(name, _)| **name == *key)
    }

    /// Returns every member, including `null`s and duplicates.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.members.iter().map(|(name, value)| (&**name, self.text_of(value)))
    }

    /// Whether a chat completion uses the legacy `functions` or `function_call`, and not `tools`.
    pub(super) fn is_legacy(&self) -> bool {
        let has = |key| self.get(key).is_some();
        !has("tools") && (has("functions") || has("function_call"))
    }

    /// Replaces a member in place (merging its duplicates into one), or appends it.
    pub(super) fn set(&mut self, key: &str, value: Box<RawValue>) {
        let place = self.members.iter().position(|(name, _)| **name == *key).unwrap_or(self.members.len());
        self.remove(key);
        self.members.insert(place, (key.into(), MemberValue::Written(value)));
    }

    /// Removes a member and its duplicates.
    pub(super) fn remove(&mut self, key: &str) {
        self.members.retain(|(name, _)| **name != *key);
    }

    fn text_of<'a>(&'a self, value: &'a MemberValue) -> &'a str {
        match value {
            MemberValue::Received(place) => self.text.get(place.clone()).unwrap_or_default(),
            MemberValue::Written(value) => value.get(),
        }
    }
}

/// Checks that members are arrays.
pub(crate) fn check_arrays(fields: &RequestFields, keys: &[&str]) -> Result<(), RequestError> {
    match keys.iter().find(|key| fields.get(key).is_some_and(|value| !value.starts_with('['))) {
        Some(key) => Err(wrong_type(key, "an array")),
        None => Ok(()),
    }
}

pub(crate) fn wrong_type(key: &str, expected: &str) -> RequestError {
    RequestError {
        message: format!("Invalid type for '{key}': expected {expected}."),
        param: Some(key.to_owned()),
        code: Some("invalid_type".to_owned()),
    }
}

/// Appended items. They are separate from the client's own arrays, so that these are neither parsed nor copied until
/// they are sent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Additions {
    /// Elements after those of the client's conversation.
    pub(crate) messages: Vec<Arc<RawValue>>,
    /// Notes to append to the texts of the client's messages, by message position.
    pub(super) notes: BTreeMap<usize, String>,
    pub(super) tools: Vec<Arc<RawValue>>,
    /// Whether the added tools replace the client's own list instead of extending it.
    pub(super) replace_tools: bool,
    /// Whether the last pushed assistant message calls in the legacy form. Its results must have the same form.
    pub(super) legacy_calls: bool,
}

/// Number of lists that a thread keeps.
const MAX_LISTS: usize = 4;

/// Size of a list from which it is kept: smaller ones are read as quickly.
const MIN_BYTES: usize = 512;

thread_local! {
    static RECENT: RefCell<RecentLists> = RefCell::default();
}

/// Skips a tool list.
fn skip_tools(scanner: &mut Scanner<'_>) -> Scanned<()> {
    RECENT.with_borrow_mut(|recent| recent.skip(scanner))
}

/// Texts of arrays that were read to their end, the latest first.
#[derive(Debug, Default)]
struct RecentLists(VecDeque<Box<str>>);

impl RecentLists {
    fn skip(&mut self, scanner: &mut Scanner<'_>) -> Scanned<()> {
        let start = scanner.start_of_value();
        let rest = scanner.rest();
        // An array ends with its bracket, so a text that begins with one that was read before has the same array there.
        if let Some(position) = self.0.iter().position(|list| rest.starts_with(&**list)) {
            self.0.swap(0, position);
            scanner.advance(self.0.front().map_or(0, |list| list.len()));
            return Ok(());
        }
        scanner.skip()?;
        let list = scanner.between(start, scanner.position());
        // All lists of a thread take at most 256 KiB.
        if list.starts_with('[') && (MIN_BYTES..=BUFFER_BYTES).contains(&list.len()) {
            self.0.truncate(MAX_LISTS - 1);
            self.0.push_front(list.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod recent_tools_tests {
    use super::*;
    use crate::scanner::Malformed;

    /// Returns a list of at least [`MIN_BYTES`].
    fn list(name: &str) -> String {
        format!("[\"{name}\",\"{}\"]", "x".repeat(MIN_BYTES))
    }

    fn end(recent: &mut RecentLists, text: &str) -> Scanned<usize> {
        let mut scanner = Scanner::new(text);
        recent.skip(&mut scanner)?;
        Ok(scanner.position())
    }

    #[test]
    fn a_known_list_ends_where_it_ended_before() {
        let mut recent = RecentLists::default();
        let list = list("a");
        for after in ["", "}", ", \"b\": 1}", "]", "[1]"] {
            assert_eq!(end(&mut recent, &format!(" {list}{after}")), Ok(1 + list.len()), "{after}");
        }
        assert_eq!(recent.0.len(), 1);
    }

    #[test]
    fn a_list_that_only_begins_like_a_known_one_is_read() {
        let mut recent = RecentLists::default();
        let known = list("a");
        assert_eq!(end(&mut recent, &known), Ok(known.len()));
        let longer = format!("{},1]", known.trim_end_matches(']'));
        assert_eq!(end(&mut recent, &longer), Ok(longer.len()));
        assert_eq!(end(&mut recent, known.trim_end_matches(']')), Err(Malformed));
    }

    #[test]
    fn few_lists_of_a_limited_size_are_kept() {
        let mut recent = RecentLists::default();
        let others = ["[]".to_owned(), format!("\"{}\"", "x".repeat(MIN_BYTES)), list(&"x".repeat(BUFFER_BYTES))];
        for text in &others {
            assert_eq!(end(&mut recent, text), Ok(text.len()));
        }
        assert!(recent.0.is_empty());
        for number in 0..9 {
            let text = list(&number.to_string());
            assert_eq!(end(&mut recent, &text), Ok(text.len()));
        }
        assert_eq!(recent.0.len(), MAX_LISTS);
        assert!(recent.0.front().is_some_and(|list| list.starts_with("[\"8\"")));
        // The list in use stays.
        for number in [5, 20, 5, 21, 5, 22, 5, 23, 5] {
            end(&mut recent, &list(&number.to_string())).unwrap();
        }
        assert!(recent.0.iter().any(|list| list.starts_with("[\"5\"")));
    }
}
