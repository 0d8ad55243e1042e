//! A document's text → raw JSON.

mod lines;
mod text;
mod yaml;

use serde_json::Value;

pub(super) use lines::Lines;
pub(super) use text::decode;

/// Nesting that a document may have. It is serde_json's own bound, so that JSON and YAML are judged alike; everything that
/// walks a document afterwards may recurse that deep without fear for the stack.
pub(super) const MAX_NESTING: usize = 127;

/// How a text was understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    /// JSON (RFC 8259).
    Json,
    /// YAML 1.2, or what is read as such.
    Yaml,
}

/// The value of a text. JSON and YAML are told apart by content, because the names of files often lie. What looks like JSON but is not
/// may still be YAML, whose flow style is laxer: trailing commas, comments, unquoted keys. An error says what is wrong and on which line.
pub(super) fn parse(text: &str) -> Result<(Value, Syntax), String> {
    if !text.trim_start().starts_with(['{', '[']) {
        return yaml::parse(text).map(|value| (value, Syntax::Yaml));
    }
    match serde_json::from_str(text) {
        Ok(value) => Ok((value, Syntax::Json)),
        Err(error) => yaml::parse(text).map(|value| (value, Syntax::Yaml)).map_err(|_| format!("no JSON: {error}")),
    }
}

#[cfg(test)]
mod tests;
