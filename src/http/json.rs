//! JSON request and response bodies.

use axum::body::{Body, Bytes};
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error;

/// Creates a response with this JSON text.
pub(super) fn text(status: StatusCode, text: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Body::from(text.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Creates a response with this value as JSON.
pub(super) fn value<T: Serialize>(status: StatusCode, value: &T) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => text(status, body),
        Err(error) => error::internal(format!("the response cannot be serialised as JSON: {error}")),
    }
}

/// Whether a request declares its body as JSON. A foreign web page cannot make a browser do this without permission
/// (<https://fetch.spec.whatwg.org/#http-cors-protocol>).
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

/// Returns a body that was sent as JSON. `sent` begins the error message: "a verdict must be JSON".
///
/// # Errors
/// The response to a request that declares another content type, or whose body cannot be read.
pub(super) fn sent(
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
    sent: &str,
) -> Result<Bytes, Box<Response>> {
    if !is_json(headers) {
        return Err(Box::new(not_json(sent)));
    }
    body.map_err(|rejection| {
        Box::new(error::invalid_request(rejection.status(), rejection.body_text(), "invalid_body"))
    })
}

/// Creates the response to a body that is not declared as JSON. `sent` begins its message: "a verdict must be JSON".
pub(super) fn not_json(sent: &str) -> Response {
    let message = format!("{sent} with `content-type: application/json`");
    error::invalid_request(StatusCode::UNSUPPORTED_MEDIA_TYPE, message, "unsupported_media_type")
}

/// Parses a body that is one JSON object. Serde would accept an array as the members' values; this function does not.
///
/// # Errors
/// The parse error.
pub(super) fn object<T: DeserializeOwned>(body: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice(body).and_then(|object| serde_json::from_value(Value::Object(object)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_is_json() {
        let of = |kind: &str| HeaderMap::from_iter([(header::CONTENT_TYPE, kind.parse().unwrap())]);
        assert!(is_json(&of("application/json")) && is_json(&of("Application/JSON; charset=utf-8")));
        for kind in
            ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", "text/plain;application/json"]
        {
            assert!(!is_json(&of(kind)), "{kind}");
        }
        assert!(!is_json(&HeaderMap::new()));
    }
}
