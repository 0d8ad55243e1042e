//! Header fields from arguments.

use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use super::method_override::is_override;
use super::style;
use crate::media_type::{essence, is_json};
use crate::refusal::invalid;
use callwright_openapi::Binding;
use callwright_types::Refusal;

/// Header parameters that are ignored: those that a document cannot describe (OpenAPI 3.0.4, Parameter Object), and
/// `Accept-Encoding`, which the connection sets.
const IGNORED: [HeaderName; 4] = [ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, AUTHORIZATION];

/// Fields that frame or route a message (RFC 9110 sections 7.2 and 7.6, RFC 9112 section 6). No argument may set
/// them.
const FRAMING: [&str; 13] = [
    "connection", "content-length", "cookie", "expect", "host", "http2-settings", "keep-alive", "proxy-authorization",
    "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
];

/// Returns the fields of the header parameters.
///
/// # Errors
/// Fails if a name is not a field name, frames the message or overrides the request. Also fails if a value contains
/// characters that are invalid in a field: CR and LF, which would begin another field, control characters, and
/// non-ASCII characters.
pub(super) fn parameters(parameters: &[(&Binding, &Value)]) -> Result<HeaderMap, Refusal> {
    let mut headers = HeaderMap::new();
    for (binding, value) in parameters {
        let name = HeaderName::from_bytes(binding.name.as_bytes())
            .map_err(|_| invalid(format!("`{}` is not a valid header field name", binding.name)))?;
        if IGNORED.contains(&name) {
            continue;
        }
        if FRAMING.contains(&name.as_str()) {
            return Err(invalid(format!("the header `{name}` is set by the connection; no argument may set it")));
        }
        if is_override(name.as_str()) {
            return Err(invalid(format!(
                "the header `{name}` would make it a request that policy does not permit; no argument may set it"
            )));
        }
        let Some(text) = style::header(binding, value) else { continue };
        let value = field_value(&text).ok_or_else(|| {
            invalid(format!(
                "the argument `{}` contains line breaks, control or non-ASCII characters, invalid in a header",
                binding.argument
            ))
        })?;
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Returns a field value of visible ASCII, spaces and tabs, the limit for new fields (RFC 9110 section 5.5).
fn field_value(text: &str) -> Option<HeaderValue> {
    text.is_ascii().then(|| HeaderValue::from_str(text).ok()).flatten()
}

/// Maximum number of media types in the `Accept` field; further ones are covered by `*/*`.
const MAX_ACCEPTED: usize = 8;

/// Last entry of the `Accept` field: a response of an undocumented type is more useful than a 406.
const ANYTHING: &str = "*/*;q=0.1";

/// Returns the `Accept` field (RFC 9110 section 12.5.1) for the media types that the operation documents. JSON is
/// requested if it is among them, because models read it best. Otherwise text types are requested, and other types
/// with half the weight.
pub(super) fn accept(produces: &[String]) -> HeaderValue {
    let (mut json, mut texts, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for media_type in produces.iter().filter(|media_type| media_type.contains('/')) {
        if is_json(media_type) {
            json.push(media_type.clone());
        } else if is_text(media_type) {
            texts.push(media_type.clone());
        } else if essence(media_type) != "*/*" {
            others.push(format!("{media_type};q=0.5"));
        }
    }
    texts.append(&mut others);
    let mut accepted = if json.is_empty() { texts } else { json };
    accepted.truncate(MAX_ACCEPTED);
    let anything = HeaderValue::from_static("*/*");
    if accepted.is_empty() {
        return anything;
    }
    HeaderValue::from_str(&format!("{}, {ANYTHING}", accepted.join(", "))).unwrap_or(anything)
}

fn is_text(media_type: &str) -> bool {
    let essence = essence(media_type);
    let is_named = ["application/xml", "application/yaml", "application/x-yaml", "application/x-ndjson"];
    essence.starts_with("text/") || essence.ends_with("+xml") || is_named.contains(&essence.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use callwright_openapi::{Location, Style};

    fn set(name: &str, value: Value) -> Result<HeaderMap, Refusal> {
        let binding = Binding {
            argument: name.to_lowercase(),
            name: name.into(),
            location: Location::Header,
            required: false,
            style: Style::Simple,
            explode: false,
            allow_reserved: false,
            media_type: None,
            nested: Vec::new(),
        };
        parameters(&[(&binding, &value)])
    }

    #[test]
    fn values_are_written_in_the_simple_style_without_encoding() {
        assert_eq!(set("X-Ids", json!([1, "b c"])).unwrap()["x-ids"], "1,b c");
        assert!(set("X-Ids", json!(null)).unwrap().is_empty());
    }

    #[test]
    fn values_that_would_break_out_are_refused() {
        for value in ["a\r\nX-Admin: 1", "a\nb", "a\rb", "a\0b", "\u{7f}", "ü", "a\u{2028}b", "a\u{85}b"] {
            assert!(set("X-A", json!(value)).is_err(), "{value:?}");
        }
    }

    #[test]
    fn fields_of_the_connection_cannot_be_set() {
        for name in [
            "Host", "Content-Length", "Transfer-Encoding", "Connection", "Cookie", "proxy-authorization",
            "HTTP2-Settings", "X-HTTP-Method-Override", "a b", "", "a\r\nb", "x:y",
        ] {
            assert!(set(name, json!("1")).is_err(), "{name}");
        }
    }

    #[test]
    fn fields_that_a_document_cannot_describe_are_ignored() {
        for name in ["Accept", "authorization", "Content-Type", "Accept-Encoding"] {
            assert!(set(name, json!("evil")).unwrap().is_empty(), "{name}");
        }
    }

    #[test]
    fn json_is_requested_first_and_text_before_other_types() {
        let cases: [(&[&str], &str); 7] = [
            (
                &["text/html", "application/hal+json", "application/json"],
                "application/hal+json, application/json, */*;q=0.1",
            ),
            (
                &["application/pdf", "text/csv", "application/xml"],
                "text/csv, application/xml, application/pdf;q=0.5, */*;q=0.1",
            ),
            (&["image/*"], "image/*;q=0.5, */*;q=0.1"),
            (&["*/*"], "*/*"),
            (&[], "*/*"),
            (&["nonsense"], "*/*"),
            (&["text/bad\r\nX: 1"], "*/*"),
        ];
        for (produces, expected) in cases {
            let produces: Vec<String> = produces.iter().map(|text| (*text).to_owned()).collect();
            assert_eq!(accept(&produces), expected, "{produces:?}");
        }
        let many: Vec<String> = (0..100).map(|number| format!("application/v{number}+json")).collect();
        assert_eq!(accept(&many).to_str().unwrap().split(", ").count(), MAX_ACCEPTED + 1);
    }
}
