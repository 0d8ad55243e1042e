//! `GET /admin/upstreams`: the providers, their current state, and statistics of their models' calls.

use axum::extract::State;
use serde::Serialize;
use serde_json::json;

use crate::http::json::Json;
use crate::http::state::OperatorSide;

/// Returns the providers by name.
pub(in crate::http) async fn list(State(side): State<OperatorSide>) -> Json<impl Serialize> {
    Json(json!({"upstreams": side.pipeline.upstreams_shown()}))
}
