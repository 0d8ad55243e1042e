//! `GET /admin/traces`, `GET /admin/traces/{id}`.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;

use crate::http::router::OperatorSide;
use crate::http::{error, json};
use crate::store::{StoreError, TraceFilter, Traces};

/// A page of traces, newest first. The query's fields are those of [`TraceFilter`].
pub(in crate::http) async fn list(
    State(side): State<OperatorSide>,
    filter: Result<Query<TraceFilter>, QueryRejection>,
) -> Response {
    match filter {
        Ok(Query(filter)) => side
            .store
            .list(&filter)
            .await
            .map_or_else(|error| failed(&error), |page| json::value(StatusCode::OK, &page)),
        Err(rejection) => error::invalid_request(StatusCode::BAD_REQUEST, rejection.body_text(), "invalid_query"),
    }
}

/// One trace, whole.
pub(in crate::http) async fn show(State(side): State<OperatorSide>, Path(id): Path<String>) -> Response {
    match side.store.get(&id).await {
        Ok(Some(trace)) => json::value(StatusCode::OK, &trace),
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
