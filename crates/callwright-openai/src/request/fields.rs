//! Members of a request.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::recent_tools;
use crate::fields::present;
use crate::scanner::{Scanned, Scanner};
use callwright_common::json::RawObject;

/// Members of a request, in order. Look-ups return the last of duplicate keys.
#[derive(Debug, Clone)]
pub(super) struct RequestFields {
    /// Members of a chat completion, as places in its text, so that they are neither parsed nor copied.
    listed: Option<MemberList>,
    /// Members of a request in another protocol, or with escapes in its keys.
    object: RawObject,
}

#[derive(Debug, Clone)]
struct MemberList {
    text: Arc<str>,
    members: Vec<Member>,
}

#[derive(Debug, Clone)]
struct Member {
    key: MemberPart<Box<str>>,
    value: MemberPart<Box<RawValue>>,
}

/// Part of the received text, or one that the proxy wrote.
#[derive(Debug, Clone)]
enum MemberPart<T> {
    Received(Range<usize>),
    Written(T),
}

impl RequestFields {
    /// Parses the text of a chat completion.
    pub(super) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        match MemberList::scan(text) {
            Ok(Some(list)) => Ok(Self { listed: Some(list), object: RawObject::default() }),
            _ => RawObject::parse(text).map(Self::from),
        }
    }

    /// Returns the text of a member that is present and not `null`.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        let Some(list) = &self.listed else { return present(self.object.get(key)).map(RawValue::get) };
        let member = list.members.iter().rev().find(|member| list.is_key(member, key))?;
        Some(list.value(member)).filter(|value| *value != "null")
    }

    /// Returns a member deserialised as `T`; `None` if it is absent or has a different type.
    pub(super) fn get_as<'a, T: Deserialize<'a>>(&'a self, key: &str) -> Option<T> {
        serde_json::from_str(self.get(key)?).ok()
    }

    /// Whether there is a member with this name.
    pub(super) fn contains(&self, key: &str) -> bool {
        match &self.listed {
            Some(list) => list.members.iter().any(|member| list.is_key(member, key)),
            None => self.object.contains(key),
        }
    }

    /// Returns every member, including `null`s and duplicates.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let listed = self.listed.iter().flat_map(MemberList::iter);
        listed.chain(self.object.iter().map(|(key, value)| (key, value.get())))
    }

    /// Replaces a member in place (merging its duplicates into one), or appends it.
    pub(super) fn set(&mut self, key: &str, value: Box<RawValue>) {
        match &mut self.listed {
            Some(list) => list.set(key, value),
            None => self.object.set(key, value),
        }
    }

    /// Removes a member and its duplicates.
    pub(super) fn remove(&mut self, key: &str) {
        match &mut self.listed {
            Some(list) => list.remove_from(0, key),
            None => {
                self.object.remove(key);
            }
        }
    }

    /// Members of a request in a protocol other than chat completions.
    pub(super) fn object(&self) -> &RawObject {
        &self.object
    }

    /// Members of a request in a protocol other than chat completions, for editing.
    pub(super) fn object_mut(&mut self) -> &mut RawObject {
        &mut self.object
    }
}

impl From<RawObject> for RequestFields {
    fn from(object: RawObject) -> Self {
        Self { listed: None, object }
    }
}

impl MemberList {
    /// Reads the text of an object; `None` if it is none or a key has escapes.
    fn scan(text: &str) -> Scanned<Option<Self>> {
        let mut scanner = Scanner::new(text);
        let mut members = Vec::with_capacity(8);
        let mut has_plain_keys = true;
        let is_object = scanner.object_with_places(|scanner, name, key| {
            has_plain_keys &= matches!(name, Cow::Borrowed(_));
            let start = scanner.start_of_value();
            if name == "tools" { recent_tools::skip(scanner) } else { scanner.skip() }?;
            let value = MemberPart::Received(start..scanner.position());
            members.push(Member { key: MemberPart::Received(key), value });
            Ok(())
        })?;
        scanner.end()?;
        Ok((is_object && has_plain_keys).then(|| Self { text: text.into(), members }))
    }

    fn received(&self, place: &Range<usize>) -> &str {
        self.text.get(place.clone()).unwrap_or_default()
    }

    fn key<'a>(&'a self, member: &'a Member) -> &'a str {
        match &member.key {
            MemberPart::Received(place) => self.received(place),
            MemberPart::Written(key) => key,
        }
    }

    fn value<'a>(&'a self, member: &'a Member) -> &'a str {
        match &member.value {
            MemberPart::Received(place) => self.received(place),
            MemberPart::Written(value) => value.get(),
        }
    }

    fn is_key(&self, member: &Member, key: &str) -> bool {
        let is_of_other_length = matches!(&member.key, MemberPart::Received(place) if place.len() != key.len());
        !is_of_other_length && self.key(member) == key
    }

    fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.members.iter().map(|member| (self.key(member), self.value(member)))
    }

    fn set(&mut self, key: &str, value: Box<RawValue>) {
        let value = MemberPart::Written(value);
        match self.members.iter().position(|member| self.is_key(member, key)) {
            Some(first) => {
                self.remove_from(first + 1, key);
                if let Some(member) = self.members.get_mut(first) {
                    member.value = value;
                }
            }
            None => self.members.push(Member { key: MemberPart::Written(key.into()), value }),
        }
    }

    /// Removes the members with this key, from a position on.
    fn remove_from(&mut self, start: usize, key: &str) {
        let members = self.members.iter().enumerate();
        let kept: Vec<bool> = members.map(|(at, member)| at < start || !self.is_key(member, key)).collect();
        let mut kept = kept.into_iter();
        self.members.retain(|_| kept.next().unwrap_or(true));
    }
}
