//! A document's bytes → raw JSON, and what had to be mended on the way.
//!
//! Real documents are written by hand, by generators with faults, and on old machines. What can be understood is; what was assumed is said.

mod foreign;
mod json;
mod lines;
mod mend;
mod stream;
mod text;
mod value;
mod yaml;

use serde_json::Value;

pub(super) use foreign::other_kind;
pub(super) use lines::{Lines, end_of_string};
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

/// A text that was understood.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) value: Value,
    /// The text, mended where that was needed: its lines are the file's.
    pub(super) text: String,
    pub(super) syntax: Syntax,
    /// What is wrong with the text and was passed over, as sentences without a subject.
    pub(super) remarks: Vec<String>,
}

/// The value of a file. An error says what is wrong and on which line, or what else it is.
pub(super) fn parse(bytes: Vec<u8>) -> Result<Parsed, String> {
    let decoded = decode(bytes);
    let mut parsed = parse_text(decoded.text)?;
    parsed.remarks.splice(..0, decoded.remark.map(str::to_owned));
    Ok(parsed)
}

/// The value of a text. JSON and YAML are told apart by content, because the names of files often lie. What looks like JSON but is not
/// may still be YAML, whose flow style is laxer: unquoted keys, other quotes.
fn parse_text(text: String) -> Result<Parsed, String> {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    if let Some(kind) = foreign::kind_of_text(start) {
        return Err(kind.to_owned());
    }
    if !start.starts_with(['{', '[']) {
        return yaml::parse(text);
    }
    match json::parse(text) {
        Ok(parsed) => Ok(parsed),
        Err((text, error)) => match yaml::parse(text) {
            Ok(mut parsed) => {
                parsed.remarks.insert(0, format!("is no JSON ({error}), and is read as YAML"));
                Ok(parsed)
            }
            Err(_) => Err(format!("no JSON: {error}")),
        },
    }
}

#[cfg(test)]
mod tests;
