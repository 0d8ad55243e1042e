//! Parses JSON, tolerating common deviations such as comments.

use serde::de::DeserializeSeed;
use serde_json::{Deserializer, Value};

use super::mend;
use super::value::ValueReader;
use super::{ParsedText, Syntax};

/// Parses a text.
///
/// # Errors
///
/// Returns the text and the error of the strict parser.
pub(super) fn parse(text: String) -> Result<ParsedText, (String, serde_json::Error)> {
    let error = match strict(&text) {
        Ok((value, remark)) => {
            return Ok(ParsedText { value, text, syntax: Syntax::Json, remarks: remark.into_iter().collect() });
        }
        Err(error) => error,
    };
    let plain = mend::without_comments(&text);
    match strict(&plain) {
        Ok((value, remark)) => {
            let what = "has comments, or commas before a closing bracket, which JSON does not allow; they are ignored";
            let remarks = std::iter::once(what.to_owned()).chain(remark).collect();
            Ok(ParsedText { value, text: plain, syntax: Syntax::Json, remarks })
        }
        Err(_) => Err((text, error)),
    }
}

fn strict(text: &str) -> Result<(Value, Option<String>), serde_json::Error> {
    let reading = ValueReader::default();
    let mut deserializer = Deserializer::from_str(text);
    let value = reading.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok((value, reading.remark()))
}
