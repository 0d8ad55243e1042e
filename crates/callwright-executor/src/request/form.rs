//! Bodies of type `application/x-www-form-urlencoded`.

use percent_encoding::percent_encode;
use serde_json::Value;

use super::content;
use super::style::{self, RESERVED};
use crate::refusal::invalid;
use callwright_openapi::{Binding, BodyBinding, Content, Encoding, Location, Style};
use callwright_types::Refusal;

/// Encodes the members of an object as pairs joined by `&`; a string is used as an already encoded form. A member
/// with a documented style is encoded like a query parameter, any other member by its content: each item of an array
/// is a pair, and an object is JSON (OpenAPI 3.0.4, Encoding Object).
///
/// # Errors
/// Fails if the value is neither an object nor a string, or a file cannot be decoded.
pub(super) fn encode(binding: &BodyBinding, value: &Value) -> Result<String, Refusal> {
    let members = match value {
        Value::Object(members) => members,
        Value::String(text) => return Ok(text.clone()),
        _ => {
            let media_type = &binding.media_type;
            return Err(invalid(format!("a body of type `{media_type}` requires an object, and the value is not one")));
        }
    };
    let mut pairs = Vec::new();
    for (name, value) in members {
        match binding.encoding.get(name) {
            Some(encoding) if is_styled(encoding) => {
                pairs.extend(style::query(&[(&self::binding(name, encoding), value)]))
            }
            encoding => pairs.extend(by_content(name, value, encoding)?),
        }
    }
    Ok(pairs.join("&"))
}

fn by_content(name: &str, value: &Value, encoding: Option<&Encoding>) -> Result<Vec<String>, Refusal> {
    let written = content::write_each(name, value, encoding)?.into_iter();
    Ok(written.map(|one| format!("{}={}", style::encode(name), percent_encode(&one.bytes, RESERVED))).collect())
}

/// Whether the document declares a style, which then replaces the content type (OpenAPI 3.0.4, Encoding Object).
pub(super) fn is_styled(encoding: &Encoding) -> bool {
    let has_form_style = encoding.style.is_some() || encoding.explode.is_some() || encoding.allow_reserved.is_some();
    has_form_style && encoding.content == Content::Value
}

/// Returns a form member as a query parameter, with the defaults of query parameters.
pub(super) fn binding(name: &str, encoding: &Encoding) -> Binding {
    let style = encoding.style.unwrap_or(Style::Form);
    Binding {
        argument: name.to_owned(),
        name: name.to_owned(),
        location: Location::Query,
        required: false,
        style,
        explode: encoding.explode.unwrap_or(style == Style::Form),
        allow_reserved: encoding.allow_reserved == Some(true),
        media_type: None,
        nested: encoding.nested.clone(),
    }
}
