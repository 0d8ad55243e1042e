//! Values as models write them, and their JSON text.

use std::borrow::Cow;

use serde_json::Value;

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

impl Literal {
    pub(crate) fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(digits) => out.push_str(digits),
            Self::Text(text) => write_string(text, out),
            Self::Source(source) => write_string(&without_escapes(source), out),
            Self::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => write_object(members.iter().map(|(key, value)| (key.as_str(), value)), out),
        }
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

/// Formats the members as a JSON object.
pub(crate) fn object_json<'a>(members: impl IntoIterator<Item = (&'a str, &'a Literal)>) -> String {
    let mut out = String::new();
    write_object(members, &mut out);
    out
}

fn write_object<'a>(members: impl IntoIterator<Item = (&'a str, &'a Literal)>, out: &mut String) {
    out.push('{');
    for (index, (key, value)) in members.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_string(key, out);
        out.push(':');
        value.write(out);
    }
    out.push('}');
}

fn write_string(text: &str, out: &mut String) {
    out.push_str(&Value::from(text).to_string());
}

/// Removes escapes that Markdown adds to an expression and that no language uses.
pub(super) fn without_escapes(source: &str) -> Cow<'_, str> {
    if source.contains('\\') { source.replace("\\_", "_").replace("\\*", "*").into() } else { source.into() }
}
