//! The request body.

use bytes::Bytes;
use http::HeaderValue;
use serde_json::Value;

use super::form;
use crate::catalog::BodyBinding;
use crate::executor::refusal::{Refusal, refuse};

/// The media type and the bytes of the body, where the call has one.
///
/// # Errors
/// Where the operation wants another media type than JSON or a form, or the value has no form.
pub(super) fn encode(
    binding: Option<&BodyBinding>,
    value: Option<&Value>,
) -> Result<Option<(HeaderValue, Bytes)>, Refusal> {
    let (Some(binding), Some(value)) = (binding, value) else { return Ok(None) };
    let media_type = &binding.media_type;
    let text = if is_json(media_type) {
        value.to_string()
    } else if is_form(media_type) {
        form::encode(binding, value)?
    } else {
        return Err(refuse!(
            "the operation wants a body of type `{media_type}`; only JSON and form bodies can be sent"
        ));
    };
    let header = HeaderValue::from_str(media_type).map_err(|_| refuse!("`{media_type:?}` is no media type"))?;
    Ok(Some((header, Bytes::from(text))))
}

/// Is a media type JSON: `application/json`, or one with the suffix `+json` (RFC 6839), with or without parameters?
pub(super) fn is_json(media_type: &str) -> bool {
    let essence = essence(media_type);
    essence == "application/json" || essence == "text/json" || essence.ends_with("+json")
}

/// Is a media type that of a form, whose body is pairs like a query?
pub(super) fn is_form(media_type: &str) -> bool {
    essence(media_type) == "application/x-www-form-urlencoded"
}

/// The media type without its parameters.
fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::catalog::BodyShape;

    fn binding(media_type: &str) -> BodyBinding {
        BodyBinding {
            media_type: media_type.into(),
            required: true,
            shape: BodyShape::Argument("body".into()),
            encoding: BTreeMap::new(),
        }
    }

    #[test]
    fn json_bodies_are_sent_as_they_are() {
        for media_type in ["application/json", "Application/JSON; charset=utf-8", "application/merge-patch+json"] {
            let (header, bytes) = encode(Some(&binding(media_type)), Some(&json!({"a": 1.5}))).unwrap().unwrap();
            assert_eq!((header.to_str().unwrap(), &bytes[..]), (media_type, &br#"{"a":1.5}"#[..]));
        }
    }

    #[test]
    fn form_bodies_are_pairs() {
        let media_type = "application/x-www-form-urlencoded; charset=utf-8";
        let (header, bytes) =
            encode(Some(&binding(media_type)), Some(&json!({"a": 1.5, "b": "x y"}))).unwrap().unwrap();
        assert_eq!((header.to_str().unwrap(), &bytes[..]), (media_type, &b"a=1.5&b=x%20y"[..]));
    }

    #[test]
    fn other_bodies_are_refused_by_name_and_absent_ones_are_none() {
        let refusal = encode(Some(&binding("multipart/form-data")), Some(&json!({}))).unwrap_err();
        assert!(refusal.0.contains("multipart/form-data"));
        assert!(encode(Some(&binding("application/json")), None).unwrap().is_none());
        assert!(encode(None, Some(&json!(1))).unwrap().is_none());
    }
}
