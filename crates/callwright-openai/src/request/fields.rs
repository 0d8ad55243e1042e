//! Members of a request.

use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::Error;
use serde_json::value::RawValue;

use super::recent_tools;
use crate::scanner::{Scanned, Scanner};
use callwright_common::json::RawObject;

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
            if key == "tools" { recent_tools::skip(scanner) } else { scanner.skip() }?;
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
