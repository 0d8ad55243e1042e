//! Read-only views for operators of the data that turns use: the toolsets with their tools, the policies, and the
//! providers.

mod tools;

use std::collections::BTreeMap;
use std::sync::Arc;

use http::HeaderMap;
use serde::Serialize;

use crate::keys::KnownKey;
use callwright_policy::{Policy, PolicyBook, PolicySelection, SelectError};
use callwright_types::CircuitState;
use callwright_upstream::{ModelDelivery, ToolCalls};

use super::services::Pipeline;
use super::settings::AliasSettings;
use super::snapshot::Tooling;
use super::stages::open::facts;

pub use tools::{Editing, ToolShown, ToolsetState};

/// Catalog, policies and aliases at one moment.
#[derive(Debug)]
pub struct Inspection {
    tooling: Arc<Tooling>,
    policies: Arc<PolicyBook>,
    aliases: Arc<BTreeMap<String, AliasSettings>>,
}

/// A policy in force.
#[derive(Debug, Serialize)]
pub struct PolicyShown {
    /// Whether the policy is the default, which applies if no other policy matches.
    pub is_default: bool,
    /// Aliases that are bound to the policy.
    pub aliases: Vec<String>,
    /// All keys of the policy.
    #[serde(flatten)]
    pub policy: Arc<Policy>,
}

/// The policy selected for a request, and the reason.
#[derive(Debug, Serialize)]
pub struct Explained {
    /// Model name in the request.
    pub model: String,
    /// Whether the model name is an alias.
    pub alias: bool,
    /// The policy and the reasons for its selection.
    #[serde(flatten)]
    pub reasoned: PolicySelection,
    /// All rules in effect for the request.
    pub rules: Arc<Policy>,
}

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
    /// Returns the current catalog, policies and aliases.
    pub fn inspect(&self) -> Inspection {
        Inspection {
            tooling: self.tooling.load_full(),
            policies: self.policies.load_full(),
            aliases: Arc::clone(&self.aliases),
        }
    }

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

impl Inspection {
    /// Returns the policies in matching order.
    pub fn policies(&self) -> Vec<PolicyShown> {
        let default = self.policies.default_policy();
        let shown = self.policies.policies().map(|policy: &Arc<Policy>| PolicyShown {
            is_default: policy.name == default.name,
            aliases: self
                .aliases
                .iter()
                .filter(|(_, alias)| alias.policy == policy.name)
                .map(|(name, _)| name.clone())
                .collect(),
            policy: Arc::clone(policy),
        });
        shown.collect()
    }

    /// Returns the policy for a request with this model, virtual key and header fields.
    ///
    /// # Errors
    /// [`SelectError`] if the request names a policy that it cannot have.
    pub fn explain(&self, model: &str, key: Option<&KnownKey>, headers: &HeaderMap) -> Result<Explained, SelectError> {
        let alias = self.aliases.get(model);
        let reasoned = self.policies.reason(&facts(model, alias, key, headers))?;
        let rules = Arc::clone(&reasoned.policy);
        Ok(Explained { model: model.to_owned(), alias: alias.is_some(), reasoned, rules })
    }
}
