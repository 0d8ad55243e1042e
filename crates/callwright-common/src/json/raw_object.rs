//! JSON objects as ordered, unparsed fields.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// Serialises `value` to a raw JSON value.
///
/// # Panics
/// Never for the types in use: strings, numbers, and maps with string keys always have a JSON form.
pub fn raw<T: Serialize + ?Sized>(value: &T) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).expect("strings, numbers and string-keyed maps have a JSON form")
}

/// A JSON object whose fields keep their order and their exact text.
///
/// Serialisation preserves duplicate keys. Look-ups return the last one, as most JSON parsers do.
#[derive(Debug, Clone, Default)]
pub struct RawObject {
    fields: Vec<(String, Box<RawValue>)>,
}

impl RawObject {
    /// Parses the text of a JSON object.
    ///
    /// # Errors
    /// If the text is not exactly one JSON object.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Parses the UTF-8 bytes of a JSON object.
    ///
    /// # Errors
    /// If the bytes are not exactly one JSON object.
    pub fn parse_bytes(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    /// Returns the raw value of a field.
    pub fn get(&self, key: &str) -> Option<&RawValue> {
        self.fields.iter().rev().find(|(name, _)| name == key).map(|(_, value)| &**value)
    }

    /// Deserialises a field as `T`; `None` if it is absent or has a different type.
    pub fn get_as<'a, T: Deserialize<'a>>(&'a self, key: &str) -> Option<T> {
        serde_json::from_str(self.get(key)?.get()).ok()
    }

    /// Replaces a field in place (merging its duplicates into one), or appends it.
    pub fn set(&mut self, key: &str, value: Box<RawValue>) {
        match self.fields.iter().position(|(name, _)| name == key) {
            Some(first) => {
                self.fields[first].1 = value;
                let mut index = 0;
                self.fields.retain(|(name, _)| {
                    index += 1;
                    name != key || index == first + 1
                });
            }
            None => self.fields.push((key.to_owned(), value)),
        }
    }

    /// Renames a field in place; does nothing if it is absent.
    pub fn rename(&mut self, key: &str, to: &str) {
        for (name, _) in &mut self.fields {
            if name == key {
                to.clone_into(name);
            }
        }
    }

    /// Removes a field and its duplicates. Returns whether there was one.
    pub fn remove(&mut self, key: &str) -> bool {
        let before = self.fields.len();
        self.fields.retain(|(name, _)| name != key);
        self.fields.len() != before
    }

    /// Returns the fields in order, including duplicates.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.fields.iter().map(|(name, value)| (name.as_str(), &**value))
    }

    /// Whether there is a field with this name.
    pub fn contains(&self, key: &str) -> bool {
        self.fields.iter().any(|(name, _)| name == key)
    }

    /// Returns the object as a raw value.
    pub fn to_raw(&self) -> Box<RawValue> {
        raw(self)
    }
}

impl FromIterator<(String, Box<RawValue>)> for RawObject {
    fn from_iter<I: IntoIterator<Item = (String, Box<RawValue>)>>(fields: I) -> Self {
        Self { fields: fields.into_iter().collect() }
    }
}

impl Serialize for RawObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.fields.len()))?;
        for (name, value) in &self.fields {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RawObjectVisitor;
        impl<'de> Visitor<'de> for RawObjectVisitor {
            type Value = RawObject;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawObject, A::Error> {
                let mut fields = Vec::new();
                while let Some(entry) = map.next_entry::<String, Box<RawValue>>()? {
                    fields.push(entry);
                }
                Ok(RawObject { fields })
            }
        }
        deserializer.deserialize_map(RawObjectVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"a":1.10,"big":123456789012345678901234567890,"a":[1, 2],"z":null}"#;

    #[test]
    fn unedited_fields_keep_text_order_and_duplicates() {
        let object = RawObject::parse(TEXT).unwrap();
        assert_eq!(object.to_raw().get(), TEXT);
        assert_eq!(object.get("a").unwrap().get(), "[1, 2]");
    }

    #[test]
    fn set_replaces_in_place_and_folds_duplicates() {
        let mut object = RawObject::parse(TEXT).unwrap();
        object.set("a", raw(&true));
        object.set("new", raw("x"));
        assert_eq!(object.to_raw().get(), r#"{"a":true,"big":123456789012345678901234567890,"z":null,"new":"x"}"#);
        assert!(object.remove("z") && !object.remove("z"));
    }

    #[test]
    fn other_json_is_refused() {
        for text in ["[]", "1", "{", r#"{"a":1} x"#, ""] {
            assert!(RawObject::parse(text).is_err(), "{text}");
        }
    }
}
