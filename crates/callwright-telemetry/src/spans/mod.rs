//! OpenTelemetry spans of turns, over OTLP, by the conventions for generative AI.
//!
//! A span is made when its turn has ended, of the turn's trace, so that both tell the same; only the ids exist before, because the upstream is
//! told which span asks it (W3C Trace Context). Names of attributes are those of
//! <https://github.com/open-telemetry/semantic-conventions-genai> (status: development), and `callwright.*` for what these have no word for. No
//! attribute holds what a user, a model or an API wrote.

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

/// What a helping stage did, for a span of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// What it was.
    pub kind: OperationKind,
    /// Time from the request's arrival to its beginning.
    pub started_after: Duration,
    /// How long it took.
    pub took: Duration,
    /// How many things it found: tools, lessons, calls of a plan.
    pub found: usize,
}

/// What helping stages do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationKind {
    /// A plan of calls is drawn or filled in.
    Plan,
    /// Tools are ranked for what was said.
    Retrieval,
    /// Memory is looked through.
    SearchMemory(MemoryKind),
}

/// Makes spans and hands them over; or does nothing, where no collector is configured.
#[derive(Debug, Default)]
pub struct Spans(Option<Active>);

#[derive(Debug)]
struct Active {
    sampler: Sampler,
    addresses: Addresses,
    exporter: Exporter,
}

impl Spans {
    /// No spans.
    pub fn off() -> Self {
        Self::default()
    }

    /// Starts handing spans over, where the settings name a collector. `upstreams` are names and base URLs. Needs a Tokio runtime.
    ///
    /// # Errors
    /// [`OtlpError`]: a setting is of no use.
    pub fn start<'a>(
        settings: &Settings,
        base_dir: &Path,
        upstreams: impl IntoIterator<Item = (&'a str, &'a str)>,
        metrics: Arc<Metrics>,
    ) -> Result<Self, OtlpError> {
        let Some(collector) = endpoint::Collector::of(settings, base_dir)? else { return Ok(Self::off()) };
        let addresses: BTreeMap<_, _> = of_turn::addresses(upstreams);
        let exporter = Exporter::start(collector, settings, metrics);
        Ok(Self(Some(Active { sampler: Sampler::new(settings.otlp_sample_ratio), addresses, exporter })))
    }

    /// The span of a turn that begins: part of the client's trace where its header fields tell one, else of a trace whose id is the turn's.
    pub fn begin(&self, headers: &HeaderMap, turn: &str) -> Option<SpanContext> {
        Some(self.0.as_ref()?.sampler.begin(headers, turn))
    }

    /// Hands the spans of a finished turn over; never waits. What does not fit the queue is dropped and counted.
    pub fn turn_ended(&self, context: &SpanContext, trace: &Trace, operations: &[Operation]) {
        if let Some(active) = self.0.as_ref().filter(|_| context.is_sampled()) {
            active.exporter.push(of_turn::spans(context, trace, operations, &active.addresses));
        }
    }

    /// Sends what is queued, and nothing any more after that; gives up at `deadline`.
    pub async fn flush(&self, deadline: Duration) {
        if let Some(active) = &self.0 {
            active.exporter.flush(deadline).await;
        }
    }
}
