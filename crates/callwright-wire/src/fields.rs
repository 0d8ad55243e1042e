//! JSON object with borrowed, unparsed fields, for reading without copies.

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

use bytes::Bytes;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::scanner::{Scanned, Scanner};
use callwright_common::json::{RawObject, raw};

/// Fields of an object, in order. Look-ups return the last of duplicate keys, as most JSON parsers do, and treat
/// `null` as absent.
#[derive(Debug)]
pub(super) struct ObjectFields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> ObjectFields<'a> {
    /// Parses the text of an object; `None` if it is not an object.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        // The error of the parser costs more than this check.
        text.trim_start().starts_with('{').then(|| serde_json::from_str(text).ok())?
    }

    /// Returns a field that is present and not `null`.
    pub(super) fn get(&self, key: &str) -> Option<&'a RawValue> {
        present(self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| *value))
    }

    /// Returns a field that is a string.
    pub(super) fn string(&self, key: &str) -> Option<Cow<'a, str>> {
        string(self.get(key)?)
    }

    pub(super) fn object(&self, key: &str) -> Option<ObjectFields<'a>> {
        ObjectFields::parse(self.get(key)?.get())
    }

    /// Returns the items of a field that is an array.
    pub(super) fn items(&self, key: &str) -> Option<Vec<&'a RawValue>> {
        array(self.get(key)?)
    }

    /// Returns a field deserialised as `T`.
    pub(super) fn get_as<T: Deserialize<'a>>(&self, key: &str) -> Option<T> {
        serde_json::from_str(self.get(key)?.get()).ok()
    }

    /// Returns every field, including `null`s and duplicates.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), *value))
    }
}

/// Fields of an object that a [`Scanner`] reads, with the texts of their values. Look-ups are
/// those of [`ObjectFields`].
#[derive(Debug, Default)]
pub(super) struct TextFields<'a>(Vec<(Cow<'a, str>, &'a str)>);

impl<'a> TextFields<'a> {
    /// Reads an object; `None` if the value is none. `read` reads the value of each field.
    pub(super) fn scan(
        scanner: &mut Scanner<'a>,
        mut read: impl FnMut(&mut Scanner<'a>, &str) -> Scanned<()>,
    ) -> Scanned<Option<Self>> {
        let mut fields = Vec::with_capacity(8);
        let is_object = scanner.object(|scanner, key| {
            let start = scanner.start_of_value();
            read(scanner, &key)?;
            fields.push((key, scanner.between(start, scanner.position())));
            Ok(())
        })?;
        Ok(is_object.then_some(Self(fields)))
    }

    pub(super) fn push(&mut self, key: Cow<'a, str>, value: &'a str) {
        self.0.push((key, value));
    }

    /// Returns the text of a field that is present and not `null`.
    pub(super) fn get(&self, key: &str) -> Option<&'a str> {
        let (_, value) = self.0.iter().rev().find(|(name, _)| name == key)?;
        Some(*value).filter(|value| *value != "null")
    }

    /// Returns a field that is a string.
    pub(super) fn string(&self, key: &str) -> Option<Cow<'a, str>> {
        string_in(self.get(key)?)
    }

    /// Returns every field, including `null`s and duplicates.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), *value))
    }
}

/// Object as it was received. Most answers are read in place and forwarded unchanged, and never need it in members.
#[derive(Debug, Clone, Default)]
pub(super) struct LazyObject {
    text: Bytes,
    members: OnceLock<RawObject>,
}

impl LazyObject {
    /// Creates an object from its text, which a [`Scanner`] has read.
    pub(super) fn of_text(text: Bytes) -> Self {
        Self { text, members: OnceLock::new() }
    }

    pub(super) fn members(&self) -> &RawObject {
        self.members.get_or_init(|| parse(&self.text))
    }

    /// Changes the members.
    pub(super) fn edit<T>(&mut self, edit: impl FnOnce(&mut RawObject) -> T) -> T {
        let mut members = self.members.take().unwrap_or_else(|| parse(&self.text));
        let result = edit(&mut members);
        *self = Self::from(members);
        result
    }
}

impl From<RawObject> for LazyObject {
    fn from(members: RawObject) -> Self {
        Self { text: Bytes::new(), members: OnceLock::from(members) }
    }
}

fn parse(text: &[u8]) -> RawObject {
    // The text was scanned before, so this cannot fail.
    RawObject::parse_bytes(text).unwrap_or_default()
}

/// Returns the raw value of a text that was scanned before.
pub(super) fn raw_value(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap_or_else(|_| raw(&()))
}

/// Builds an object from its members.
pub(super) fn object<const N: usize>(fields: [(&str, Box<RawValue>); N]) -> RawObject {
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Treats `null` as absent.
pub(super) fn present(value: Option<&RawValue>) -> Option<&RawValue> {
    value.filter(|value| value.get() != "null")
}

/// Returns the items of an array.
pub(super) fn array(value: &RawValue) -> Option<Vec<&RawValue>> {
    // The error of the parser costs more than this check.
    value.get().starts_with('[').then(|| serde_json::from_str(value.get()).ok())?
}

/// Returns the content of a JSON string. Lone surrogates, which some servers send, become U+FFFD.
pub(super) fn string(value: &RawValue) -> Option<Cow<'_, str>> {
    string_in(value.get())
}

/// Returns the content of the string in a JSON text.
pub(super) fn string_in(text: &str) -> Option<Cow<'_, str>> {
    if !text.starts_with('"') {
        return None;
    }
    decode(text, memchr::memchr(b'\\', text.as_bytes()).is_some())
}

/// Returns the content of a quoted JSON string; `escaped` is whether it has escapes.
pub(super) fn decode(quoted: &str, escaped: bool) -> Option<Cow<'_, str>> {
    let inner = quoted.strip_prefix('"')?.strip_suffix('"')?;
    if !escaped {
        return Some(Cow::Borrowed(inner));
    }
    if let Some(text) = unescaped(inner) {
        return Some(Cow::Owned(text));
    }
    let StringBytes(bytes) = serde_json::from_str(quoted).ok()?;
    Some(Cow::Owned(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into())))
}

/// Resolves the escapes of a string; `None` if it has surrogates, which `serde_json` resolves.
fn unescaped(inner: &str) -> Option<String> {
    let mut text = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = next_escape(rest.as_bytes()) {
        text.push_str(rest.get(..at)?);
        let (resolved, length) = match *rest.as_bytes().get(at + 1)? {
            plain @ (b'"' | b'\\' | b'/') => (char::from(plain), 2),
            b'b' => ('\u{8}', 2),
            b'f' => ('\u{c}', 2),
            b'n' => ('\n', 2),
            b'r' => ('\r', 2),
            b't' => ('\t', 2),
            b'u' => (char::from_u32(u32::from_str_radix(rest.get(at + 2..at + 6)?, 16).ok()?)?, 6),
            _ => return None,
        };
        text.push(resolved);
        rest = rest.get(at + length..)?;
    }
    text.push_str(rest);
    Some(text)
}

/// Returns the position of the next backslash. It is near in JSON inside a string, where a search has a higher fixed cost
/// than a loop.
fn next_escape(text: &[u8]) -> Option<usize> {
    let (near, far) = text.split_at_checked(16).unwrap_or((text, &[]));
    let found = near.iter().position(|byte| *byte == b'\\');
    found.or_else(|| memchr::memchr(b'\\', far).map(|at| near.len() + at))
}

/// Bytes of a string. `serde_json` returns them even if escapes do not form valid text.
struct StringBytes(Vec<u8>);

impl<'de> Deserialize<'de> for StringBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StringVisitor;
        impl Visitor<'_> for StringVisitor {
            type Value = StringBytes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON string")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<StringBytes, E> {
                Ok(StringBytes(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(StringVisitor)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for ObjectFields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct FieldKey<'k>(#[serde(borrow)] Cow<'k, str>);

        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = ObjectFields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ObjectFields<'de>, A::Error> {
                let mut fields = Vec::with_capacity(8);
                while let Some((FieldKey(name), value)) = map.next_entry()? {
                    fields.push((name, value));
                }
                Ok(ObjectFields(fields))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_duplicate_counts_and_null_is_absent() {
        let fields = ObjectFields::parse(r#"{"a":1,"b":null,"a":"x\n"}"#).unwrap();
        assert_eq!(fields.string("a").as_deref(), Some("x\n"));
        assert!(fields.get("b").is_none() && fields.get("c").is_none());
        assert_eq!(fields.iter().count(), 3);
        assert!(ObjectFields::parse("[1]").is_none());
    }

    #[test]
    fn half_a_surrogate_pair_does_not_lose_the_text_around_it() {
        let fields = ObjectFields::parse(r#"{"a":"say \ud83d now","b":"\ud83d\ude00"}"#).unwrap();
        let text = fields.string("a").unwrap();
        assert!(text.starts_with("say \u{fffd}") && text.ends_with(" now"), "{text}");
        assert_eq!(fields.string("b").as_deref(), Some("\u{1f600}"));
    }

    #[test]
    fn values_of_other_types_are_no_strings() {
        let fields = ObjectFields::parse(r#"{"n":5,"o":{},"s":""}"#).unwrap();
        assert!(fields.string("n").is_none() && fields.string("o").is_none());
        assert_eq!(fields.string("s").as_deref(), Some(""));
    }
}
