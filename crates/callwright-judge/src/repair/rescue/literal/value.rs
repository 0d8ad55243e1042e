//! Values as models write them, and their JSON text.

use std::borrow::Cow;

use serde::ser::Error;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// A value as a model wrote it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Literal {
    /// The value `null`, `None`, `nil` or `undefined`.
    Null,
    /// The value `true` or `True`, or their negation.
    Bool(bool),
    /// A number in JSON syntax. Digits are never lost.
    Number(String),
    /// A string.
    Text(String),
    /// A list, tuple or set.
    List(Vec<Literal>),
    /// An object or dict, with its members in order.
    Object(Vec<(String, Literal)>),
    /// The source text of an expression that is not a literal.
    Source(String),
}

impl Serialize for Literal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(digits) => {
                RawValue::from_string(digits.clone()).map_err(S::Error::custom)?.serialize(serializer)
            }
            Self::Text(text) => serializer.serialize_str(text),
            Self::Source(source) => serializer.serialize_str(&without_escapes(source)),
            Self::List(items) => serializer.collect_seq(items),
            Self::Object(members) => serializer.collect_map(members.iter().map(|(key, value)| (key, value))),
        }
    }
}

impl Literal {
    /// Returns the value as JSON.
    pub(crate) fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the members of an object.
    pub(crate) fn members(&self) -> Option<&[(String, Literal)]> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Returns the member of this name, if the value is an object that has one.
    pub(crate) fn member(&self, name: &str) -> Option<&Literal> {
        self.members()?.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Returns the first name or expression in the value.
    pub(crate) fn expression(&self) -> Option<&str> {
        match self {
            // A number with leading zeros, such as `07`, is valid in no language. The schema determines its meaning.
            Self::Source(source) => {
                Some(source.as_str()).filter(|source| !source.bytes().all(|byte| byte.is_ascii_digit()))
            }
            Self::List(items) => items.iter().find_map(Self::expression),
            Self::Object(members) => members.iter().find_map(|(_, value)| value.expression()),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Returns the value of a word that is a constant of JSON or of a programming language.
pub(crate) fn constant(word: &str) -> Option<Literal> {
    match word {
        "true" | "True" | "TRUE" => Some(Literal::Bool(true)),
        "false" | "False" | "FALSE" => Some(Literal::Bool(false)),
        "null" | "None" | "nil" | "undefined" | "NULL" => Some(Literal::Null),
        _ => None,
    }
}

/// Removes escapes that Markdown adds to an expression and that no language uses.
pub(super) fn without_escapes(source: &str) -> Cow<'_, str> {
    if source.contains('\\') { source.replace("\\_", "_").replace("\\*", "*").into() } else { source.into() }
}
