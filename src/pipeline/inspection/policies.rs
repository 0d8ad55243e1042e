//! The policies in force, and the policy selection for a given request.

use std::sync::Arc;

use http::HeaderMap;
use serde::Serialize;

use super::Inspection;
use crate::keys::KnownKey;
use crate::pipeline::stages::open::facts;
use callwright_policy::{Policy, Reasoned, SelectError};

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
    pub reasoned: Reasoned,
    /// All rules in effect for the request.
    pub rules: Arc<Policy>,
}

impl Inspection {
    /// Returns the policies in matching order.
    pub fn policies(&self) -> Vec<PolicyShown> {
        let default = self.policies.default_policy();
        let shown = |policy: &Arc<Policy>| PolicyShown {
            is_default: policy.name == default.name,
            aliases: self
                .aliases
                .iter()
                .filter(|(_, alias)| alias.policy == policy.name)
                .map(|(name, _)| name.clone())
                .collect(),
            policy: Arc::clone(policy),
        };
        self.policies.policies().map(shown).collect()
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
