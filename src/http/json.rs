//! Answers whose body is JSON: the client side's own and the operator side's.

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;

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
