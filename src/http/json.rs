//! JSON request and response bodies, and queries.

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::{self, Refusal};

/// Result of a handler whose response is a value as JSON.
pub(super) type Answer<T> = Result<Json<T>, Refusal>;

/// A response with this value as JSON.
#[derive(Debug)]
pub(super) struct Json<T>(pub(super) T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(body) => text(StatusCode::OK, body),
            Err(error) => error::internal(format!("the response cannot be serialised as JSON: {error}")),
        }
    }
}

/// Creates a response with this JSON text.
pub(super) fn text(status: StatusCode, text: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Body::from(text.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Whether a request declares its body as JSON. A foreign web page cannot make a browser do this without permission
/// (<https://fetch.spec.whatwg.org/#http-cors-protocol>).
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

/// Creates the response to a body that is not declared as JSON. `sent` begins its message: "a verdict".
pub(super) fn not_json(sent: &str) -> Response {
    let message = format!("{sent} must be JSON with `content-type: application/json`");
    error::invalid_request(StatusCode::UNSUPPORTED_MEDIA_TYPE, message, "unsupported_media_type")
}

/// Body of a request that changes something.
pub(super) trait SentBody: DeserializeOwned {
    /// Name of the body in messages, with its article.
    const NAME: &'static str;
    /// Beginning of the message about a body that cannot be parsed: its form.
    const FORM: &'static str;

    /// Returns the texts with a maximum number of characters: member, text, maximum.
    fn texts(&self) -> Vec<(&'static str, Option<&str>, usize)> {
        Vec::new()
    }

    /// Parses a body that is one JSON object; an empty one has no members. Serde would accept an array as the members'
    /// values; this function does not.
    fn parse(body: &[u8]) -> Result<Self, Refusal> {
        let body = if body.is_empty() { &b"{}"[..] } else { body };
        let parsed = serde_json::from_slice(body).and_then(|object| serde_json::from_value(Value::Object(object)));
        let parsed: Self = parsed.map_err(|error| error::invalid_body(format!("{}: {error}", Self::FORM)))?;
        for (name, text, most) in parsed.texts() {
            if text.is_some_and(|text| text.chars().count() > most) {
                return Err(error::invalid_body(format!("`{name}` is longer than {most} characters")).into());
            }
        }
        Ok(parsed)
    }
}

/// Extractor of a body.
///
/// A foreign web page can make an operator's browser send a form or plain text here. It can send JSON only if this
/// server allows it (<https://fetch.spec.whatwg.org/#http-cors-protocol>), which it never does. Bodies are therefore
/// accepted as JSON only.
#[derive(Debug)]
pub(super) struct Sent<T>(pub(super) T);

impl<T: SentBody, S: Send + Sync> FromRequest<S> for Sent<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refusal> {
        let is_json = is_json(request.headers());
        let body = Bytes::from_request(request, state).await;
        if !is_json {
            return Err(not_json(T::NAME).into());
        }
        let body = body
            .map_err(|rejection| error::invalid_request(rejection.status(), rejection.body_text(), "invalid_body"))?;
        Ok(Self(T::parse(&body)?))
    }
}

/// Extractor of a query. A query that cannot be parsed is rejected with the parser's message.
#[derive(Debug)]
pub(super) struct ParsedQuery<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for ParsedQuery<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let query = Query::from_request_parts(parts, state).await;
        let Query(query) = query.map_err(|rejection| error::invalid_query(rejection.body_text()))?;
        Ok(Self(query))
    }
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
