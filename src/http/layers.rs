//! Layers of the routers: metrics of client requests, authentication of operators, and caching of operator responses.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{CACHE_CONTROL, HeaderName, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use jiff::Timestamp;

use crate::keys::OperatorToken;
use callwright_telemetry::Metrics;
use callwright_telemetry::labels::{Endpoint, Label};
use callwright_types::ids;
use callwright_wire::ErrorBody;

use super::{caller, error};

/// Id of a turn, or of a log line about a request that began none.
const TRACE: HeaderName = HeaderName::from_static("x-callwright-trace");

/// Counts requests of the client listener by route and status, and measures their time to the response head.
pub(super) async fn measure(State(metrics): State<Arc<Metrics>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let mut response = next.run(request).await;
    let endpoint = endpoint(route.as_ref());
    metrics.requests.inc(endpoint, response.status().as_u16());
    metrics.request_duration.observe(started.elapsed().as_secs_f64());
    log_failure(&mut response, endpoint);
    response
}

/// Logs a response with status 429 or 5xx. Those of turns are logged where the turn ends; others get the id that the line
/// has, for which no trace is stored.
fn log_failure(response: &mut Response, endpoint: Endpoint) {
    let status = response.status();
    let is_failure = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
    if !is_failure || response.headers().contains_key(&TRACE) {
        return;
    }
    let id = ids::trace_id(Timestamp::now());
    let error = response.extensions().get::<ErrorBody>();
    let reason = error.and_then(|error| error.code.as_deref()).unwrap_or("the upstream's own response");
    let text = error.map(|error| error.message.as_str()).unwrap_or_default();
    tracing::warn!(
        trace = id,
        path = endpoint.label(),
        status = status.as_u16(),
        reason,
        error = text,
        "a request was not served"
    );
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(TRACE, id);
    }
}

fn endpoint(route: Option<&MatchedPath>) -> Endpoint {
    match route.map(MatchedPath::as_str) {
        Some("/v1/{*path}") => Endpoint::PassThrough,
        Some(route) => Endpoint::of(route).unwrap_or(Endpoint::Other),
        None => Endpoint::Other,
    }
}

/// Forbids caching of operator responses.
pub(super) async fn forbid_caching(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Rejects requests without the operator token, if one is configured.
pub(super) async fn authorize_operator(
    State(token): State<Arc<OperatorToken>>,
    request: Request,
    next: Next,
) -> Response {
    if token.admits(caller::bearer(request.headers())) {
        return next.run(request).await;
    }
    let mut response = error::unauthorized(
        "this path requires `Authorization: Bearer TOKEN` with the token of `server.operator_token`",
        "invalid_operator_token",
    );
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}
