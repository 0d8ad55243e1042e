//! Requests below `/v1/` that the proxy does not process: they are forwarded unchanged.

use std::time::Instant;

use http::{HeaderMap, Method};

use callwright_telemetry::labels::AttemptOutcome;
use callwright_types::UpstreamFailure;
use callwright_upstream::{Answer, RequestBody};

use super::services::Pipeline;

/// A request to pass through.
#[derive(Debug)]
pub struct PassThrough {
    /// HTTP method.
    pub method: Method,
    /// Path below `/v1`, and query.
    pub path_and_query: String,
    /// Header fields of the client.
    pub headers: HeaderMap,
    /// Body, streamed as it arrives.
    pub body: RequestBody,
}

/// Result of a passed-through request.
pub type Passed = Result<Answer, UpstreamFailure>;

impl Pipeline {
    /// Forwards a request to the upstream that the configuration names for its path.
    pub async fn pass_through(&self, request: PassThrough) -> Passed {
        let started = Instant::now();
        let upstream = self.upstream(self.passing.upstream_of(&request.path_and_query));
        let PassThrough { method, path_and_query, headers, body } = request;
        let passed = upstream.forward(method, &path_and_query, &headers, body).await;
        let outcome = match &passed {
            Ok(answer) if !answer.status.is_client_error() && !answer.status.is_server_error() => {
                AttemptOutcome::Success
            }
            Ok(_) => AttemptOutcome::HttpError,
            Err(failure) => AttemptOutcome::of(failure.kind.label()).unwrap_or(AttemptOutcome::Other),
        };
        self.metrics.upstream_attempts.inc(upstream.name(), outcome);
        self.metrics.upstream_duration.observe(started.elapsed().as_secs_f64());
        passed
    }
}
