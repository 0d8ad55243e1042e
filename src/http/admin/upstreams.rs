//! `GET /admin/upstreams`: the providers, what goes on at each, and how its models' calls come.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use crate::http::json;
use crate::http::router::OperatorSide;

/// The providers by name.
pub(in crate::http) async fn list(State(side): State<OperatorSide>) -> Response {
    json::value(StatusCode::OK, &json!({"upstreams": side.pipeline.upstreams_shown()}))
}
