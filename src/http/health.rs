//! `/healthz`, `/readyz`, `/metrics`.

use std::sync::atomic::Ordering;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use serde_json::{Value, json};

use super::api_operation::{ApiParts, for_everyone, for_operators};
use super::api_schema::{array, named, object, one_of, required, text};
use super::json;
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
    json::value(status, &json!({"status": word, "degraded": degraded}))
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

/// Describes the operations.
pub(super) fn describe(api: &mut ApiParts) {
    let alive = for_everyone("isAlive", "Reports that the process runs.");
    api.operation(Method::GET, "/healthz", alive.responds_as(200, "It runs.", [("text/plain", text().into())]));
    let ready = for_everyone("isReady", "Reports whether turns can be served.")
        .responds(200, "Turns can be served; the body lists degraded parts.", named("Ready"))
        .responds(503, "The process is shutting down, or its keys could not be loaded.", named("Ready"));
    api.operation(Method::GET, "/readyz", ready);
    let metrics = for_operators("metrics", "Returns all metrics for Prometheus.")
        .responds_as(200, "Prometheus text format 0.0.4.", [("text/plain", text().into())])
        .fails([401]);
    api.operation(Method::GET, "/metrics", metrics);
    let degraded = object([required("part", text()), required("reason", text())]);
    let status = one_of(["ready", "draining", "no keys"]);
    api.schema("Ready", object([required("status", status), required("degraded", array(degraded))]));
}
