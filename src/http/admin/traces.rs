//! `GET /admin/traces`, `GET /admin/traces/{id}`.

use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;

use crate::http::error;
use crate::http::router::OperatorSide;
use crate::store::{StoreError, TraceFilter, Traces};

/// A page of traces, newest first. The query's fields are those of [`TraceFilter`].
pub(in crate::http) async fn list(
    State(side): State<OperatorSide>,
    filter: Result<Query<TraceFilter>, QueryRejection>,
) -> Response {
    match filter {
        Ok(Query(filter)) => side.store.list(&filter).await.map_or_else(|error| failed(&error), |page| json(&page)),
        Err(rejection) => error::invalid_request(StatusCode::BAD_REQUEST, rejection.body_text(), "invalid_query"),
    }
}

/// One trace, whole.
pub(in crate::http) async fn show(State(side): State<OperatorSide>, Path(id): Path<String>) -> Response {
    match side.store.get(&id).await {
        Ok(Some(trace)) => json(&trace),
        Ok(None) => {
            let message = format!(
                "no trace `{id}`; a trace is written shortly after its turn, and kept as store.retention_days says"
            );
            error::invalid_request(StatusCode::NOT_FOUND, message, "unknown_trace")
        }
        Err(error) => failed(&error),
    }
}

fn failed(failure: &StoreError) -> Response {
    match failure {
        StoreError::BadCursor(_) => {
            error::invalid_request(StatusCode::BAD_REQUEST, failure.to_string(), "invalid_query")
        }
        _ => error::unavailable(failure.to_string(), "store_unavailable"),
    }
}

fn json<T: Serialize>(value: &T) -> Response {
    match serde_json::to_vec(value) {
        Ok(text) => {
            let mut response = Response::new(Body::from(text));
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        }
        Err(error) => error::internal(format!("the trace cannot be written as JSON: {error}")),
    }
}
