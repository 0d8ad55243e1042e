//! Layers of the routers: metrics of client requests, authentication of operators, and caching of operator responses.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, WWW_AUTHENTICATE};
use axum::middleware::Next;
use axum::response::Response;

use crate::keys::OperatorToken;
use callwright_telemetry::Metrics;
use callwright_telemetry::labels::Endpoint;

use super::{caller, error};

/// Counts requests of the client listener by route and status, and measures their time to the response head.
pub(super) async fn measure(State(metrics): State<Arc<Metrics>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let response = next.run(request).await;
    metrics.requests.inc(endpoint(route.as_ref()), response.status().as_u16());
    metrics.request_duration.observe(started.elapsed().as_secs_f64());
    response
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
