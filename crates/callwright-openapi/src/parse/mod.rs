//! Parses a document's bytes as raw JSON and reports the repairs that were needed.
//!
//! Real documents are written by hand, by faulty generators, and in old encodings. The parser tolerates what it can
//! and reports its assumptions.

mod foreign;
mod general;
mod lines;
mod parsed;
mod quick;
mod repair;
mod text;
mod yaml;

use serde::de::DeserializeSeed;
use serde_json::{Deserializer, Value};

use general::ValueReader;

pub(super) use foreign::other_kind;
pub(super) use lines::{LineIndex, end_of_string};
pub(super) use parsed::{ParsedText, Syntax};
pub(super) use text::decode;

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
    match parse_json(text) {
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

/// Parses a JSON text, tolerating common deviations such as comments.
///
/// # Errors
///
/// Returns the text and the error of the strict parser.
fn parse_json(text: String) -> Result<ParsedText, (String, serde_json::Error)> {
    let error = match strict_json(&text) {
        Ok((value, remark)) => {
            return Ok(ParsedText { value, text, syntax: Syntax::Json, remarks: remark.into_iter().collect() });
        }
        Err(error) => error,
    };
    let plain = repair::without_comments(&text);
    match strict_json(&plain) {
        Ok((value, remark)) => {
            let what = "has comments, or commas before a closing bracket, which JSON does not allow; they are ignored";
            let remarks = std::iter::once(what.to_owned()).chain(remark).collect();
            Ok(ParsedText { value, text: plain, syntax: Syntax::Json, remarks })
        }
        Err(_) => Err((text, error)),
    }
}

fn strict_json(text: &str) -> Result<(Value, Option<String>), serde_json::Error> {
    let reading = ValueReader::default();
    let mut deserializer = Deserializer::from_str(text);
    let value = reading.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok((value, reading.remark()))
}

#[cfg(test)]
mod tests;
