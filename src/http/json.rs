//! Bodies that are JSON: answers of both sides, and what they are sent.

use axum::body::{Body, Bytes};
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error;

/// An answer with this JSON text as its body.
pub(super) fn text(status: StatusCode, text: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Body::from(text.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// An answer with this value as its body.
pub(super) fn value<T: Serialize>(status: StatusCode, value: &T) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => text(status, body),
        Err(error) => error::internal(format!("the answer cannot be written as JSON: {error}")),
    }
}

/// Does a request say that its body is JSON? A web page of somebody else's cannot make a browser say so without being allowed to
/// (<https://fetch.spec.whatwg.org/#http-cors-protocol>).
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

/// A body that is sent as JSON. `sent` begins the sentence that tells otherwise: "a verdict is sent as JSON".
///
/// # Errors
/// The refusal of a request that says something else of its body, or whose body cannot be had.
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

/// The refusal of a body that is not sent as JSON. `sent` begins its sentence: "a verdict is sent as JSON".
pub(super) fn not_json(sent: &str) -> Response {
    let message = format!("{sent}, with `content-type: application/json`");
    error::invalid_request(StatusCode::UNSUPPORTED_MEDIA_TYPE, message, "unsupported_media_type")
}

/// A body that is one JSON object. An array would be read as the values of the members, and is none.
///
/// # Errors
/// What is wrong with it.
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
