//! Layers: metrics of client requests, and header fields of operator responses.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;

use callwright_telemetry::Metrics;
use callwright_telemetry::labels::Endpoint;

/// Counts requests of the client listener by route and status, and measures their time to the response head.
pub(super) async fn client(State(metrics): State<Arc<Metrics>>, request: Request, next: Next) -> Response {
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
pub(super) async fn no_store(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
