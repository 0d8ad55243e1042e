//! Encoding of the content of a body or of one of its parts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::{file, style, xml};
use crate::media_type::{essence, is_json};
use crate::refusal::invalid;
use callwright_openapi::{Content, Encoding};
use callwright_types::Refusal;

/// Media type of a file of unknown type (RFC 2046 section 4.5.1).
const BYTES: &str = "application/octet-stream";

/// Encoded form of one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EncodedValue {
    /// Media type; `None` for plain text.
    pub(super) media_type: Option<String>,
    /// Name of the file, if it has one.
    pub(super) file_name: Option<String>,
    pub(super) is_file: bool,
    pub(super) bytes: Vec<u8>,
}

/// Encodes the value of `name` (an argument or a member, for messages) by its content kind, as one of the media types
/// in `accepted`. Returns `None` for `null`, which is omitted.
///
/// # Errors
/// Fails if a file has none of the media types in `accepted` or cannot be decoded, or if a value cannot be represented
/// in XML.
pub(super) fn write(
    name: &str,
    value: &Value,
    content: &Content,
    accepted: Option<&str>,
) -> Result<Option<EncodedValue>, Refusal> {
    let text = match (value, content) {
        (Value::Null, _) => return Ok(None),
        (Value::String(text), Content::File) => return file(name, text, accepted).map(Some),
        (Value::String(text), Content::Base64) => base64_text(name, text)?,
        (Value::String(text), Content::Xml(_)) => text.clone(),
        (_, Content::Xml(shape)) => xml::encode(shape, value)?,
        _ => return Ok(Some(plain(value, accepted))),
    };
    Ok(Some(EncodedValue {
        media_type: first(accepted).map(str::to_owned),
        file_name: None,
        // Base64 is a file if the document declares the type of its content; otherwise it is plain text.
        is_file: *content == Content::Base64 && accepted.is_some(),
        bytes: text.into_bytes(),
    }))
}

/// Encodes the member `name` of a form: the items of an array separately (RFC 7578 section 4.3), any other value as
/// one.
///
/// # Errors
/// The errors of [`write()`].
pub(super) fn write_each(name: &str, value: &Value, encoding: Option<&Encoding>) -> Result<Vec<EncodedValue>, Refusal> {
    let content = encoding.map_or(&Content::Value, |encoding| &encoding.content);
    let accepted = encoding.and_then(|encoding| encoding.content_type.as_deref());
    let items = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    items.iter().filter_map(|item| write(name, item, content, accepted).transpose()).collect()
}

/// Encodes a plain value by its JSON type (OpenAPI 3.0.4, Encoding Object, defaults of `contentType`).
fn plain(value: &Value, accepted: Option<&str>) -> EncodedValue {
    let first = first(accepted);
    let text = if first.is_some_and(is_json) { value.to_string() } else { style::text(value).unwrap_or_default() };
    let by_value = matches!(value, Value::Object(_) | Value::Array(_)).then_some("application/json");
    let media_type = first.or(by_value).map(str::to_owned);
    EncodedValue { media_type, file_name: None, is_file: false, bytes: text.into_bytes() }
}

fn file(name: &str, text: &str, accepted: Option<&str>) -> Result<EncodedValue, Refusal> {
    let file::FileArgument { media_type: given, name: file_name, bytes } = file::parse(name, text)?;
    let media_type = match (&given, accepted) {
        (Some(given), Some(accepted)) if !accepted.split(',').any(|range| is_in(range, given)) => {
            return Err(invalid(format!(
                "the argument `{name}` is a file of type `{given}`; the API accepts {accepted}"
            )));
        }
        (Some(given), _) => given.clone(),
        (None, accepted) => first(accepted).unwrap_or(BYTES).to_owned(),
    };
    Ok(EncodedValue { media_type: Some(media_type), file_name, is_file: true, bytes })
}

/// Returns the base64 text of the argument. The content of a data URL is encoded as base64.
fn base64_text(name: &str, text: &str) -> Result<String, Refusal> {
    let file = file::parse(name, text)?;
    let is_url = file.bytes != text.as_bytes();
    Ok(if is_url { STANDARD.encode(file.bytes) } else { text.to_owned() })
}

/// Returns the first media type in a list that is not a range.
fn first(accepted: Option<&str>) -> Option<&str> {
    accepted?.split(',').map(str::trim).find(|media_type| !media_type.is_empty() && !media_type.contains('*'))
}

/// Whether `media_type` matches `range` (RFC 9110 section 12.5.1), regardless of parameters.
/// `application/octet-stream` matches any type.
fn is_in(range: &str, media_type: &str) -> bool {
    let (range, media_type) = (essence(range), essence(media_type));
    let family = range.strip_suffix('*').filter(|family| family.ends_with('/'));
    range == media_type
        || range == "*/*"
        || range == BYTES
        || family.is_some_and(|family| media_type.starts_with(family))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(value: Value, content: &Content, accepted: Option<&str>) -> (Option<String>, String) {
        let written = write("x", &value, content, accepted).unwrap().unwrap();
        (written.media_type, String::from_utf8(written.bytes).unwrap())
    }

    #[test]
    fn values_are_written_by_type_unless_the_document_differs() {
        let some = |text: &str| Some(text.to_owned());
        let cases = [
            (json!("a b"), None, None, "a b"),
            (json!(1.5), None, None, "1.5"),
            (json!(true), None, None, "true"),
            (json!({"a": [1]}), None, some("application/json"), r#"{"a":[1]}"#),
            (json!("a"), Some("application/json"), some("application/json"), r#""a""#),
            (json!("<a/>"), Some("text/html; charset=utf-8"), some("text/html; charset=utf-8"), "<a/>"),
            (json!({"a": 1}), Some("application/vnd.a+json, */*"), some("application/vnd.a+json"), r#"{"a":1}"#),
        ];
        for (value, accepted, media_type, text) in cases {
            assert_eq!(written(value.clone(), &Content::Value, accepted), (media_type, text.to_owned()), "{value}");
        }
        assert_eq!(write("x", &Value::Null, &Content::File, None), Ok(None));
    }

    #[test]
    fn files_have_their_declared_type_if_the_api_accepts_it() {
        let png = json!("data:image/png;base64,QUJD");
        let cases = [
            (png.clone(), None, "image/png"),
            (png.clone(), Some("image/*"), "image/png"),
            (png.clone(), Some("image/jpeg, image/png"), "image/png"),
            (png.clone(), Some("application/octet-stream"), "image/png"),
            (json!("ABC"), Some("image/*, text/csv"), "text/csv"),
            (json!("ABC"), Some("image/*"), "application/octet-stream"),
            (json!("ABC"), None, "application/octet-stream"),
        ];
        for (value, accepted, media_type) in cases {
            let expected = (Some(media_type.to_owned()), "ABC".to_owned());
            assert_eq!(written(value, &Content::File, accepted), expected, "{accepted:?}");
        }
        let refusal = write("photo", &png, &Content::File, Some("image/jpeg, image/gif")).unwrap_err().message;
        assert!(refusal.contains("`photo`") && refusal.contains("image/jpeg, image/gif"), "{refusal}");
    }

    #[test]
    fn base64_stays_base64_and_a_data_url_becomes_it() {
        for value in ["QUJD", "data:image/png;base64,QUJD", "data:,ABC"] {
            assert_eq!(written(json!(value), &Content::Base64, None), (None, "QUJD".to_owned()), "{value}");
        }
    }
}
