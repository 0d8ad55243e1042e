//! `GET /admin/upstreams`: the providers, their current state, and statistics of their models' calls.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use crate::http::json;
use crate::http::router::OperatorSide;

/// Returns the providers by name.
pub(in crate::http) async fn list(State(side): State<OperatorSide>) -> Response {
    json::value(StatusCode::OK, &json!({"upstreams": side.pipeline.upstreams_shown()}))
}
