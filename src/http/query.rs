//! Query string of a request.

use axum::extract::{FromRequestParts, Query};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use serde::de::DeserializeOwned;

use super::error;

/// Extractor of a query. A query that cannot be parsed is rejected with the parser's message.
#[derive(Debug)]
pub(super) struct ParsedQuery<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for ParsedQuery<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        match Query::from_request_parts(parts, state).await {
            Ok(Query(query)) => Ok(Self(query)),
            Err(rejection) => {
                Err(error::invalid_request(StatusCode::BAD_REQUEST, rejection.body_text(), "invalid_query"))
            }
        }
    }
}
