//! Deserialises JSON and YAML to raw JSON, with any scalar keys.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};

use super::parsed::MAX_NESTING;
use crate::tool::text::SHOWN_NAMES;

/// Maximum number of values that YAML aliases may repeat in total: enough for a response shared by all operations,
/// too few for a denial-of-service attack ("billion laughs").
const MAX_ALIASED: usize = 200_000;

/// Deserialises a value. serde_json's own implementation would reject a document because of one key `null` or `~`,
/// and silently drop the first value of a duplicate key.
#[derive(Debug, Default)]
pub(super) struct ValueReader {
    /// Keys that occur more than once in one object.
    twice: RefCell<BTreeSet<String>>,
}

impl ValueReader {
    /// Returns the remark about duplicate keys, if any.
    pub(super) fn remark(self) -> Option<String> {
        let twice = self.twice.into_inner();
        if twice.is_empty() {
            return None;
        }
        let named: Vec<String> = twice.iter().take(SHOWN_NAMES).map(|key| format!("`{key}`")).collect();
        let more = if twice.len() > SHOWN_NAMES { ", ..." } else { "" };
        Some(format!("has keys more than once in one object ({}{more}); the last one is used", named.join(", ")))
    }
}

impl<'de> DeserializeSeed<'de> for &ValueReader {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &ValueReader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<Option<String>>()? {
            let key = key.unwrap_or_else(|| "null".to_owned());
            let value = members.next_value_seed(self)?;
            match object.entry(key) {
                Entry::Vacant(entry) => drop(entry.insert(value)),
                Entry::Occupied(mut entry) => {
                    let mut twice = self.twice.borrow_mut();
                    // One key more than is named shows that there are further ones.
                    if twice.len() <= SHOWN_NAMES {
                        twice.insert(entry.key().clone());
                    }
                    entry.insert(value);
                }
            }
        }
        Ok(Value::Object(object))
    }
}

/// Parses a YAML document by the general parser, which recurses, and returns its value with a remark about faults.
pub(super) fn general(text: &str) -> Result<(Value, Option<String>), String> {
    let reading = ValueReader::default();
    let value = serde_saphyr::with_deserializer_from_str_with_options(
        text,
        options(text.len()),
        |deserializer: serde_saphyr::Deserializer<'_, '_>| reading.deserialize(deserializer),
    );
    value.map(|value| (value, reading.remark())).map_err(|error| format!("invalid YAML: {error}"))
}

/// Returns the parser's options. The length of the text in `bytes` bounds its content without aliases; aliases may
/// add [`MAX_ALIASED`]. The last of several equal keys is used, as in JSON. Only `true` and `false` are booleans
/// (YAML 1.2), because `no` can be a country code.
fn options(bytes: usize) -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_NESTING,
            max_events: bytes.saturating_mul(2).saturating_add(MAX_ALIASED),
            max_nodes: bytes.saturating_add(MAX_ALIASED),
            max_total_scalar_bytes: bytes.saturating_mul(2).saturating_add(MAX_ALIASED),
            enforce_alias_anchor_ratio: false,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MAX_ALIASED },
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        strict_booleans: true,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        with_snippet: false,
    }
}
