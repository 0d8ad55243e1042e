//! OpenTelemetry spans of turns, over OTLP, according to the semantic conventions for generative AI.
//!
//! Spans are created from the trace when a turn has ended, so that both agree. Only the ids exist earlier, because the
//! upstream receives the id of its parent span (W3C Trace Context). Attribute names are those of
//! <https://github.com/open-telemetry/semantic-conventions-genai> (status: development), and `callwright.*` where there
//! is no convention. No attribute contains text of a user, a model or an API.

mod attributes;
mod context;
mod endpoint;
mod export;
mod of_turn;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;

use super::{Metrics, Settings};
use crate::labels::MemoryKind;
use callwright_types::Trace;

pub use context::{SpanContext, TRACEPARENT, TRACESTATE};
pub use endpoint::OtlpError;

use context::Sampler;
use export::Exporter;
use of_turn::Addresses;

/// An operation of an auxiliary stage, which has its own span.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// Kind of operation.
    pub kind: OperationKind,
    /// Time from the request's arrival to the start.
    pub started_after: Duration,
    /// Duration.
    pub took: Duration,
    /// Number of results: tools, lessons, calls of a plan.
    pub found: usize,
}

/// Operations of auxiliary stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationKind {
    /// A plan of calls is drawn or filled in.
    Plan,
    /// Tools are ranked for a text.
    Retrieval,
    /// Memory is searched.
    SearchMemory(MemoryKind),
}

/// Creates and exports spans; does nothing if no collector is configured.
#[derive(Debug, Default)]
pub struct Spans(Option<ActiveSpans>);

#[derive(Debug)]
struct ActiveSpans {
    sampler: Sampler,
    addresses: Addresses,
    exporter: Exporter,
}

impl Spans {
    /// Creates an instance that exports no spans.
    pub fn off() -> Self {
        Self::default()
    }

    /// Starts the export if the settings name a collector. `upstreams` are names and base URLs. Requires a Tokio
    /// runtime.
    ///
    /// # Errors
    /// [`OtlpError`]: a setting is invalid.
    pub fn start<'a>(
        settings: &Settings,
        base_dir: &Path,
        upstreams: impl IntoIterator<Item = (&'a str, &'a str)>,
        metrics: Arc<Metrics>,
    ) -> Result<Self, OtlpError> {
        let Some(collector) = endpoint::OtlpCollector::of(settings, base_dir)? else { return Ok(Self::off()) };
        let addresses: BTreeMap<_, _> = of_turn::addresses(upstreams);
        let exporter = Exporter::start(collector, settings, metrics);
        Ok(Self(Some(ActiveSpans { sampler: Sampler::new(settings.otlp_sample_ratio), addresses, exporter })))
    }

    /// Starts the span of a turn. It belongs to the client's trace if the headers name one, otherwise to a trace whose
    /// id is the turn's.
    pub fn begin(&self, headers: &HeaderMap, turn: &str) -> Option<SpanContext> {
        Some(self.0.as_ref()?.sampler.begin(headers, turn))
    }

    /// Queues the spans of a finished turn; never waits. Spans that do not fit the queue are dropped and counted.
    pub fn turn_ended(&self, context: &SpanContext, trace: &Trace, operations: &[Operation]) {
        if let Some(active) = self.0.as_ref().filter(|_| context.is_sampled) {
            active.exporter.push(of_turn::spans(context, trace, operations, &active.addresses));
        }
    }

    /// Sends the queued spans and stops the export; gives up at `deadline`.
    pub async fn flush(&self, deadline: Duration) {
        if let Some(active) = &self.0 {
            active.exporter.flush(deadline).await;
        }
    }
}
