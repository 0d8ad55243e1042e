//! Locations of the values of a YAML text, for errors that are found after parsing.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use crate::json::Pointer;

/// The locations of a mapping's or sequence's values, by key or index; empty for a scalar.
#[derive(Debug)]
pub(super) struct YamlPlaces(Vec<(String, Spanned<YamlPlaces>)>);

impl YamlPlaces {
    /// Returns line and column of a value, or of the nearest enclosing one if it is not in the text.
    pub(super) fn of(&self, pointer: &Pointer) -> Option<(usize, usize)> {
        let mut found = None;
        let mut here = self;
        for token in pointer.tokens() {
            let Some((_, child)) = here.0.iter().find(|(key, _)| *key == token) else { break };
            found = Some((child.referenced.line() as usize, child.referenced.column() as usize));
            here = &child.value;
        }
        found
    }
}

impl<'de> Deserialize<'de> for YamlPlaces {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PlacesVisitor)
    }
}

struct PlacesVisitor;

/// Implements the visitor methods of scalars, which contain no values.
macro_rules! scalars {
    ($($visit:ident: $type:ty),*) => { $(
        fn $visit<E>(self, _: $type) -> Result<YamlPlaces, E> {
            Ok(YamlPlaces(Vec::new()))
        }
    )* };
}

impl<'de> Visitor<'de> for PlacesVisitor {
    type Value = YamlPlaces;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any YAML")
    }

    scalars!(visit_bool: bool, visit_i64: i64, visit_i128: i128, visit_u64: u64, visit_u128: u128, visit_f64: f64, visit_str: &str);

    fn visit_unit<E>(self) -> Result<YamlPlaces, E> {
        Ok(YamlPlaces(Vec::new()))
    }

    fn visit_none<E>(self) -> Result<YamlPlaces, E> {
        Ok(YamlPlaces(Vec::new()))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<YamlPlaces, D::Error> {
        YamlPlaces::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<YamlPlaces, A::Error> {
        let mut places = Vec::new();
        while let Some(item) = items.next_element()? {
            places.push((places.len().to_string(), item));
        }
        Ok(YamlPlaces(places))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<YamlPlaces, A::Error> {
        let mut places = Vec::new();
        while let Some(key) = entries.next_key::<String>()? {
            places.push((key, entries.next_value()?));
        }
        Ok(YamlPlaces(places))
    }
}
