//! Parses a document's bytes as raw JSON and reports the repairs that were needed.
//!
//! Real documents are written by hand, by faulty generators, and in old encodings. The parser tolerates what it can
//! and reports its assumptions.

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
pub(super) use lines::{LineIndex, end_of_string};
pub(super) use text::decode;

/// Maximum nesting of a document. It is serde_json's own limit, so that JSON and YAML have the same one. All later
/// traversals of a document may recurse to this depth without a stack overflow.
pub(super) const MAX_NESTING: usize = 127;

/// Syntax by which a text was parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    /// JSON (RFC 8259).
    Json,
    /// YAML 1.2, including JSON-like texts that are parsed as YAML.
    Yaml,
}

/// A parsed text.
#[derive(Debug)]
pub(super) struct ParsedText {
    pub(super) value: Value,
    /// The text, after repairs if any were needed; its line numbers are those of the file.
    pub(super) text: String,
    pub(super) syntax: Syntax,
    /// Tolerated faults of the text, as sentences without a subject.
    pub(super) remarks: Vec<String>,
}

/// Parses a file.
///
/// # Errors
///
/// Returns the fault with its line, or the actual format of the file.
pub(super) fn parse(bytes: Vec<u8>) -> Result<ParsedText, String> {
    let decoded = decode(bytes);
    let mut parsed = parse_text(decoded.text)?;
    parsed.remarks.splice(..0, decoded.remark.map(str::to_owned));
    Ok(parsed)
}

/// Parses a text. JSON and YAML are distinguished by content, because file names are often wrong. A text that looks
/// like JSON but is invalid may still be YAML, whose flow style is more permissive (unquoted keys, single quotes).
fn parse_text(text: String) -> Result<ParsedText, String> {
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
                parsed.remarks.insert(0, format!("is not valid JSON ({error}) and is parsed as YAML"));
                Ok(parsed)
            }
            Err(_) => Err(format!("invalid JSON: {error}")),
        },
    }
}

#[cfg(test)]
mod tests;
