//! Mapping of errors to HTTP: every error response of both listeners has the form of OpenAI's API,
//! except below `/v1/messages`, where it has Anthropic's ([`in_form`]).

use std::any::Any;

use axum::body::Body;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::keys::{KeyDenial, RefusedRequest};
use crate::pipeline::{refusal_body, refusal_headers};
use callwright_store::StoreError;
use callwright_types::{Protocol, UpstreamFailure};
use callwright_wire::ErrorBody;

/// An error response, with which a handler ends early.
#[derive(Debug)]
pub(super) struct Refusal(Box<Response>);

impl From<Response> for Refusal {
    fn from(response: Response) -> Self {
        Self(Box::new(response))
    }
}

impl From<StoreError> for Refusal {
    fn from(failure: StoreError) -> Self {
        store(&failure).into()
    }
}

impl From<UpstreamFailure> for Refusal {
    fn from(failure: UpstreamFailure) -> Self {
        upstream_failure(&failure).into()
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        *self.0
    }
}

pub(super) fn response(status: StatusCode, error: &ErrorBody) -> Response {
    let mut response = (status, [(CONTENT_TYPE, "application/json")], error.to_bytes()).into_response();
    response.extensions_mut().insert(error.clone());
    response
}

/// Returns an error response of the proxy in the form of a protocol; other responses are unchanged.
pub(super) fn in_form(protocol: Protocol, mut response: Response) -> Response {
    if let Some(error) = response.extensions_mut().remove::<ErrorBody>() {
        let body = error.to_bytes_in(protocol, response.status());
        response.headers_mut().remove(CONTENT_LENGTH);
        *response.body_mut() = Body::from(body);
    }
    response
}

pub(super) fn invalid_request(status: StatusCode, message: impl Into<String>, code: &str) -> Response {
    response(status, &body(message, "invalid_request_error", code))
}

/// Creates the response to a request whose body is valid JSON but not acceptable.
pub(super) fn invalid_body(message: impl Into<String>) -> Response {
    invalid_request(StatusCode::BAD_REQUEST, message, "invalid_body")
}

/// Creates the response to a request for an item that does not exist.
pub(super) fn not_found(message: impl Into<String>) -> Response {
    invalid_request(StatusCode::NOT_FOUND, message, "not_found")
}

/// Creates the response to a query with invalid values.
pub(super) fn invalid_query(message: impl Into<String>) -> Response {
    invalid_request(StatusCode::BAD_REQUEST, message, "invalid_query")
}

/// Creates the response for an upstream without a usable answer.
pub(super) fn upstream_failure(failure: &UpstreamFailure) -> Response {
    let status = StatusCode::from_u16(failure.kind.status()).unwrap_or(StatusCode::BAD_GATEWAY);
    let mut response = response(status, &body(failure.to_string(), "upstream_error", failure.kind.label()));
    if let Some(seconds) = failure.retry_after_seconds() {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Creates the response to a request without valid credentials.
pub(super) fn unauthorized(message: impl Into<String>, code: &str) -> Response {
    response(StatusCode::UNAUTHORIZED, &body(message, "invalid_request_error", code))
}

/// Creates the response to a client whose key is refused.
pub(super) fn denied(denied: KeyDenial) -> Response {
    match denied {
        KeyDenial::NotLoaded => unavailable(denied.to_string(), "keys_unavailable"),
        _ => unauthorized(denied.to_string(), "invalid_api_key"),
    }
}

/// Creates the response to a client that exceeds a limit or lacks a permission.
pub(super) fn refused(refused: &RefusedRequest) -> Response {
    let status = StatusCode::from_u16(refused.limit.status()).unwrap_or(StatusCode::TOO_MANY_REQUESTS);
    let mut response = response(status, &refusal_body(refused));
    response.headers_mut().extend(refusal_headers(refused));
    response
}

/// Creates the response for an internal error.
pub(super) fn internal(message: impl Into<String>) -> Response {
    response(StatusCode::INTERNAL_SERVER_ERROR, &body(message, "server_error", "internal_error"))
}

/// Creates the response for a dependency that is unavailable.
pub(super) fn unavailable(message: impl Into<String>, code: &str) -> Response {
    response(StatusCode::SERVICE_UNAVAILABLE, &body(message, "server_error", code))
}

/// Creates the response to a connection over the limit.
pub(super) fn too_many_connections() -> Response {
    let message = "too many connections are open (server.max_connections); try again later, and reuse connections";
    overloaded(message, "too_many_connections")
}

/// Creates the response to a request that the proxy has no capacity for.
pub(super) fn overloaded(message: impl Into<String>, code: &str) -> Response {
    let mut response = unavailable(message, code);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("2"));
    response
}

/// Creates the response for a failed store operation.
pub(super) fn store(failure: &StoreError) -> Response {
    match failure {
        StoreError::BadCursor(_) => invalid_request(StatusCode::BAD_REQUEST, failure.to_string(), "invalid_query"),
        _ => unavailable(failure.to_string(), "store_unavailable"),
    }
}

/// Responds to a panic of a handler, so that the connection is not closed without a response.
pub(super) fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let what = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    tracing::error!(panic = what, "a request handler panicked");
    internal("the proxy failed on this request; see its log")
}

fn body(message: impl Into<String>, kind: &str, code: &str) -> ErrorBody {
    ErrorBody { message: message.into(), kind: kind.to_owned(), param: None, code: Some(code.to_owned()) }
}
