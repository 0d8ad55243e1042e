//! The current state of the providers, and how their models deliver tool calls.

use serde::Serialize;

use crate::pipeline::Pipeline;
use callwright_types::CircuitState;
use callwright_upstream::{ModelDelivery, ToolCalls};

/// Current state of a provider.
#[derive(Debug, Serialize)]
pub struct UpstreamShown {
    /// Name in the configuration.
    pub name: String,
    /// Whether it is the default upstream, for turns that name no other.
    pub is_default: bool,
    /// Number of requests in flight.
    pub in_flight: usize,
    /// Number of queued requests.
    pub queued: usize,
    /// State of the circuit breaker.
    pub circuit: &'static str,
    /// The setting `tool_calls`; under `auto`, the observations per model decide.
    pub tool_calls: ToolCalls,
    /// Observed delivery of tool calls by model, for models that made calls.
    pub models: Vec<ModelDelivery>,
}

impl Pipeline {
    /// Returns the current state of the providers, ordered by name.
    pub fn upstreams_shown(&self) -> Vec<UpstreamShown> {
        let default = self.upstreams.default_upstream().name();
        let shown = self.upstreams.iter().map(|upstream| {
            let load = upstream.load();
            UpstreamShown {
                name: upstream.name().to_owned(),
                is_default: upstream.name() == default,
                in_flight: load.in_flight,
                queued: load.queued,
                circuit: CircuitState::label(load.circuit),
                tool_calls: upstream.settings().tool_calls,
                models: upstream.deliveries(),
            }
        });
        shown.collect()
    }
}
