//! Encoding of the request body.

use bytes::Bytes;
use encoding_rs::{Encoding, UTF_8};
use http::HeaderValue;
use serde_json::Value;

use super::{content, form, multipart};
use crate::media_type::{charset, essence};
use crate::refusal::invalid;
use callwright_openapi::{BodyBinding, BodyFormat, BodyShape, Content};
use callwright_types::Refusal;

/// Start of each JSON text of an `application/json-seq` body (RFC 7464 section 2.2).
const RECORD_SEPARATOR: &str = "\u{1e}";

/// Returns the media type and the bytes of the body, if the call has one.
///
/// # Errors
/// Fails if the value cannot be represented in the media type of the operation.
pub(super) fn encode(
    binding: Option<&BodyBinding>,
    value: Option<&Value>,
) -> Result<Option<(HeaderValue, Bytes)>, Refusal> {
    let (Some(binding), Some(value)) = (binding, value) else { return Ok(None) };
    let text = match binding.format {
        BodyFormat::Json => value.to_string(),
        BodyFormat::Yaml => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
        BodyFormat::JsonSequence => sequence(&binding.media_type, value),
        BodyFormat::Form => form::encode(binding, value)?,
        BodyFormat::Multipart => return multipart::encode(binding, value).map(Some),
        BodyFormat::Xml | BodyFormat::Text | BodyFormat::Bytes => return single(binding, value),
    };
    Ok(Some((header(&binding.media_type)?, Bytes::from(text))))
}

/// Encodes a body that is one text, one file or one XML document.
fn single(binding: &BodyBinding, value: &Value) -> Result<Option<(HeaderValue, Bytes)>, Refusal> {
    let name = match &binding.shape {
        BodyShape::Argument(name) => name,
        BodyShape::Properties(_) => "body",
    };
    let accepted = &binding.media_type;
    let Some(written) = content::write(name, value, &binding.content, Some(accepted))? else { return Ok(None) };
    // The content determines the media type only if the operation has a range.
    let media_type = written.media_type.filter(|_| accepted.contains('*')).unwrap_or_else(|| accepted.clone());
    let bytes = match binding.content {
        Content::File => Bytes::from(written.bytes),
        _ => in_charset(name, &media_type, written.bytes)?,
    };
    Ok(Some((header(&media_type)?, bytes)))
}

/// Encodes a text in the charset of the media type (RFC 9110 section 8.3.2); UTF-8 if the media type names no known
/// charset.
fn in_charset(name: &str, media_type: &str, utf8: Vec<u8>) -> Result<Bytes, Refusal> {
    let charset = charset(media_type).and_then(|label| Encoding::for_label(label.as_bytes())).unwrap_or(UTF_8);
    if charset.output_encoding() == UTF_8 {
        return Ok(Bytes::from(utf8));
    }
    let text = String::from_utf8_lossy(&utf8);
    let (bytes, _, has_unmappable) = charset.encode(&text);
    if has_unmappable {
        return Err(invalid(format!(
            "the argument `{name}` contains characters that {} cannot encode",
            charset.name()
        )));
    }
    Ok(Bytes::from(bytes.into_owned()))
}

/// Writes one JSON text per item, each on its own line. A value that is not an array is the only item.
fn sequence(media_type: &str, value: &Value) -> String {
    let items = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    let before = if essence(media_type).ends_with("json-seq") { RECORD_SEPARATOR } else { "" };
    items.iter().map(|item| format!("{before}{item}\n")).collect()
}

fn header(media_type: &str) -> Result<HeaderValue, Refusal> {
    HeaderValue::from_str(media_type).map_err(|_| invalid(format!("`{media_type:?}` is not a valid media type")))
}

#[cfg(test)]
mod tests;
