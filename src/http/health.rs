//! `/healthz`, `/readyz`, `/metrics`.

use std::sync::atomic::Ordering;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::json::Json;
use super::state::OperatorSide;
use callwright_common::tasks::{self, TaskState};

/// Handles `GET /healthz`: the process runs.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// Handles `GET /readyz`: 503 only if turns cannot be served. The body lists degraded parts.
pub(super) async fn ready(State(side): State<OperatorSide>) -> Response {
    let draining = side.draining.load(Ordering::Relaxed);
    let health = side.store.health();
    let mut degraded: Vec<Value> = Vec::new();
    if !health.ok {
        degraded.push(json!({"part": "store", "reason": health.message}));
    }
    let switched = side.pipeline.switch.state();
    if switched.is_any() {
        degraded.push(json!({"part": "guard", "reason": "the kill switch is thrown: turns pass through unguarded"}));
    }
    let is_down = |(name, task): &(&str, TaskState)| {
        task.is_down.then(|| json!({"part": name, "reason": "a background task panicked and starts again shortly"}))
    };
    degraded.extend(tasks::restarted().iter().filter_map(is_down));
    let has_keys = side.access.is_ready();
    if !has_keys {
        degraded.push(
            json!({"part": "keys", "reason": "no keys are loaded: the store could not be read since the process started"}),
        );
    }
    let (status, word) = match (draining, has_keys) {
        (true, _) => (StatusCode::SERVICE_UNAVAILABLE, "draining"),
        (false, false) => (StatusCode::SERVICE_UNAVAILABLE, "no keys"),
        (false, true) => (StatusCode::OK, "ready"),
    };
    (status, Json(json!({"status": word, "degraded": degraded}))).into_response()
}

/// Handles `GET /metrics`: Prometheus text format 0.0.4.
pub(super) async fn metrics(State(side): State<OperatorSide>) -> Response {
    let switched = side.pipeline.switch.state();
    side.metrics.switched_off.set(i64::from(switched.everything.is_some()));
    side.metrics.policies_switched_off.set(i64::try_from(switched.policies.len()).unwrap_or(i64::MAX));
    side.metrics.keys.set(i64::try_from(side.access.active()).unwrap_or(i64::MAX));
    side.metrics.store_up.set(i64::from(side.store.health().ok));
    side.pipeline.approvals.measure().await;
    side.pipeline.measure_upstreams();
    side.pipeline.measure_caches();
    side.metrics.traces_waiting.set(i64::try_from(side.pipeline.traces.waiting()).unwrap_or(i64::MAX));
    side.metrics.traces_on_disk_bytes.set(i64::try_from(side.pipeline.traces.on_disk()).unwrap_or(i64::MAX));
    let mut response = Response::new(Body::from(side.metrics.render()));
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
