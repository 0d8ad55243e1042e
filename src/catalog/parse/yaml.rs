//! YAML → raw JSON.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};

use super::MAX_NESTING;

/// Stack of the YAML parser. It recurses, and unoptimised it takes about 24 KiB for a level of nesting.
const YAML_STACK_BYTES: usize = 16 * 1024 * 1024;

/// Values that YAML aliases may repeat in all: enough for a response that every operation shares, too few for a bomb.
const MAX_ALIASED: usize = 200_000;

/// The value of a YAML document of one part. Parsed on a thread of its own, whose stack is sure to be large enough for [`MAX_NESTING`] levels wherever the caller stands.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("yaml".to_owned()).stack_size(YAML_STACK_BYTES);
        let parser = thread.spawn_scoped(scope, || {
            serde_saphyr::from_str_with_options(text, options(text.len()))
                .map(|Yaml(value)| value)
                .map_err(|error| format!("no YAML: {error}"))
        });
        let parser = parser.map_err(|error| format!("cannot start the YAML parser: {error}"))?;
        parser.join().unwrap_or_else(|_| Err("the YAML parser failed on this document".to_owned()))
    })
}

/// The text's own length, in `bytes`, bounds what it can hold without aliases; aliases may add [`MAX_ALIASED`] to that. Of two keys
/// of one name the last one holds, as in JSON, and only `true` and `false` are booleans (YAML 1.2): `no` is a country.
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

/// A YAML value as JSON. serde_json's own reading would refuse a whole document for one key `null` or `~`.
struct Yaml(Value);

impl<'de> Deserialize<'de> for Yaml {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(YamlVisitor).map(Self)
    }
}

struct YamlVisitor;

impl<'de> Visitor<'de> for YamlVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
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
        while let Some(Yaml(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((key, Yaml(value))) = members.next_entry::<Option<String>, Yaml>()? {
            object.insert(key.unwrap_or_else(|| "null".to_owned()), value);
        }
        Ok(Value::Object(object))
    }
}
