//! The providers: what goes on at each, and how its models' calls come.

use serde::Serialize;

use crate::pipeline::Pipeline;
use callwright_types::CircuitState;
use callwright_upstream::{ModelDelivery, ToolCalls};

/// A provider, as it is now.
#[derive(Debug, Serialize)]
pub struct UpstreamShown {
    /// The name in the configuration.
    pub name: String,
    /// Whether it gets the turns that name no other.
    pub is_default: bool,
    /// Requests under way.
    pub in_flight: usize,
    /// Requests that wait for one of these to end.
    pub queued: usize,
    /// The state of its circuit breaker.
    pub circuit: &'static str,
    /// The setting `tool_calls`; under `auto` what was learned of each model decides.
    pub tool_calls: ToolCalls,
    /// How the calls of each model that called come, by name.
    pub models: Vec<ModelDelivery>,
}

impl Pipeline {
    /// The providers by name, as they are now.
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
