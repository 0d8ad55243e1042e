//! Requests below `/v1/` that the proxy does not process: they are forwarded unchanged.

use std::time::Instant;

use http::{HeaderMap, Method};

use bytes::Bytes;
use callwright_telemetry::labels::AttemptOutcome;
use callwright_types::{Protocol, UpstreamFailure};
use callwright_upstream::{Answer, RequestBody};
use callwright_wire::{ModelRequest, ObjectReference, UncheckedBody, object_references};

use super::cpu::CpuWork;
use super::kept_key::tenant;
use super::services::Pipeline;
use super::stages::retract;
use super::targets::{Target, targets};
use crate::keys::{Caller, KnownKey};

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
    /// Name of the upstream, for a request whose body names an alias; `None` selects it by the path.
    pub upstream: Option<String>,
}

/// Result of a passed-through request.
pub type Passed = Result<Answer, UpstreamFailure>;

impl Pipeline {
    /// Returns the first target of an alias; `None` for another model name.
    pub fn alias_target(&self, model: &str) -> Option<Target> {
        targets(model, self.aliases.get(model)?, "").into_iter().next()
    }

    /// Returns the body of a request about a conversation without the reasoning of answers that were not accepted, as a turn
    /// sends it; `None` if it has no such reasoning.
    pub async fn without_retracted(
        &self,
        caller: &Caller,
        headers: &HeaderMap,
        protocol: Protocol,
        body: &Bytes,
    ) -> Option<Bytes> {
        let tenant = tenant(caller, headers);
        let parse = || ModelRequest::parse(protocol, body.clone());
        // The provider reports what it cannot read.
        let mut request = self.cpu.run(&tenant, CpuWork::Body, body.len(), parse).await.ok()?;
        retract::remove_from(self, &tenant, &mut request).await;
        request.is_edited().then(|| request.to_bytes())
    }

    /// Returns the provider's objects that the JSON body of a key's request names.
    pub async fn object_references(
        &self,
        known: &KnownKey,
        body: &Bytes,
    ) -> Result<Vec<ObjectReference>, UncheckedBody> {
        self.cpu.run(&known.key().id, CpuWork::Body, body.len(), || object_references(body)).await
    }

    /// Forwards a request to the upstream that the configuration names for its path.
    pub async fn pass_through(&self, request: PassThrough) -> Passed {
        let started = Instant::now();
        let by_path = || self.passing.upstream_of(&request.path_and_query);
        let upstream = self.upstream(request.upstream.as_deref().unwrap_or_else(by_path));
        let PassThrough { method, path_and_query, headers, body, .. } = request;
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
