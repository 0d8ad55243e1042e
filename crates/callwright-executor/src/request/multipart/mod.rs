//! Bodies of type `multipart/*` (RFC 2046 section 5.1; `multipart/form-data`: RFC 7578).
//!
//! Each member of the object is a part with its name in `Content-Disposition: form-data`, for every subtype, because
//! OpenAPI 3.0.4 maps members to parts by that field only. Each item of an array is a separate part (RFC 7578 section
//! 4.3).

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::content::{self, EncodedValue};
use super::file;
use super::form::{binding, is_styled};
use super::style::{self, EscapeMode};
use crate::media_type::essence;
use crate::refusal::invalid;
use callwright_common::digest::{hex, of_text};
use callwright_openapi::{BodyBinding, Encoding};
use callwright_types::Refusal;

/// Framing fields of a part, which the document may not set.
const FRAMING: [&str; 4] = ["content-disposition", "content-length", "content-type", "transfer-encoding"];

/// One part of the body.
struct FormDataPart<'a> {
    name: String,
    written: EncodedValue,
    headers: Option<&'a BTreeMap<String, String>>,
}

/// Returns the media type with its boundary, and the body.
///
/// # Errors
/// Fails if the value is not an object, a file cannot be decoded, or the document declares an invalid media type or
/// field for a part.
pub(super) fn encode(binding: &BodyBinding, value: &Value) -> Result<(HeaderValue, Bytes), Refusal> {
    let media_type = essence(&binding.media_type);
    let Value::Object(members) = value else {
        return Err(invalid(format!("a body of type `{media_type}` requires an object, and the value is not one")));
    };
    let mut parts = Vec::new();
    for (name, value) in members {
        parts.extend(parts_of(name, value, binding.encoding.get(name), media_type == "multipart/form-data")?);
    }
    let blocks: Vec<Vec<u8>> = parts.iter().map(block).collect::<Result<_, _>>()?;
    let boundary = boundary(&blocks);
    let mut body = Vec::new();
    for block in &blocks {
        body.extend_from_slice(format!("--{boundary}\r\n").as_bytes());
        body.extend_from_slice(block);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    // RFC 2387 section 3.1 requires the type of the root, which is the first part.
    let root = parts.first().and_then(|part| part.written.media_type.as_deref()).unwrap_or("text/plain");
    let root = if media_type == "multipart/related" { format!("; type=\"{}\"", essence(root)) } else { String::new() };
    let header = format!("{media_type}; boundary={boundary}{root}");
    let header =
        HeaderValue::from_str(&header).map_err(|_| invalid(format!("`{media_type:?}` is not a valid media type")))?;
    Ok((header, Bytes::from(body)))
}

/// Encodes the parts of one member: by its style if it has one, otherwise by its content.
fn parts_of<'a>(
    name: &str,
    value: &Value,
    encoding: Option<&'a Encoding>,
    has_styles: bool,
) -> Result<Vec<FormDataPart<'a>>, Refusal> {
    let headers = encoding.map(|encoding| &encoding.headers);
    if let Some(encoding) = encoding.filter(|encoding| has_styles && is_styled(encoding)) {
        let pairs = style::pairs(&binding(name, encoding), value, EscapeMode::Plain).into_iter();
        return Ok(pairs
            .map(|(name, text)| FormDataPart {
                name,
                written: EncodedValue { media_type: None, file_name: None, is_file: false, bytes: text.into_bytes() },
                headers,
            })
            .collect());
    }
    let written = content::write_each(name, value, encoding)?.into_iter();
    Ok(written.map(|written| FormDataPart { name: name.to_owned(), written, headers }).collect())
}

/// Returns the header fields and the content of a part.
fn block(part: &FormDataPart<'_>) -> Result<Vec<u8>, Refusal> {
    let FormDataPart { name, written, headers } = part;
    let mut head = format!("Content-Disposition: form-data; name=\"{}\"", quoted(name));
    if written.is_file {
        let named = written.file_name.clone();
        let file_name = named.unwrap_or_else(|| file::name_for(name, written.media_type.as_deref()));
        head.push_str(&format!("; filename=\"{}\"", quoted(&file_name)));
    }
    head.push_str("\r\n");
    if let Some(media_type) = &written.media_type {
        head.push_str(&field("Content-Type", media_type)?);
    }
    for (name, value) in headers.iter().copied().flatten() {
        if !FRAMING.contains(&name.to_ascii_lowercase().as_str()) {
            head.push_str(&field(name, value)?);
        }
    }
    head.push_str("\r\n");
    let mut block = head.into_bytes();
    block.extend_from_slice(&written.bytes);
    Ok(block)
}

fn field(name: &str, value: &str) -> Result<String, Refusal> {
    let is_field =
        HeaderName::from_bytes(name.as_bytes()).is_ok() && value.is_ascii() && HeaderValue::from_str(value).is_ok();
    if is_field {
        Ok(format!("{name}: {value}\r\n"))
    } else {
        Err(invalid(format!("a part of the body cannot have the field `{name:?}: {value:?}`")))
    }
}

/// Quotes a name: characters that would end the quoted string, and control characters, are percent-encoded (WHATWG
/// HTML, multipart form data; RFC 7578 section 2).
fn quoted(name: &str) -> String {
    name.chars().fold(String::new(), |mut quoted, letter| {
        match letter {
            '"' | '\\' => quoted.push_str(if letter == '"' { "%22" } else { "%5C" }),
            letter if letter.is_control() => quoted.push_str(&style::encode(letter.encode_utf8(&mut [0; 4]))),
            letter => quoted.push(letter),
        }
        quoted
    })
}

/// Returns a boundary that occurs in no part. It is derived from the parts, so that the same call is sent as the same
/// bytes.
fn boundary(blocks: &[Vec<u8>]) -> String {
    let mut hash = Sha256::new();
    blocks.iter().for_each(|block| hash.update(block));
    let mut text = hex(&hash.finalize());
    // Content that contains its own hash cannot be constructed on purpose; an accidental match is resolved by hashing
    // again.
    while blocks.iter().any(|block| memchr::memmem::find(block, text.as_bytes()).is_some()) {
        text = of_text(&text);
    }
    text
}

#[cfg(test)]
mod tests;
