//! The policies in force, and which of them a request would get.

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
    /// Does it hold where none matches?
    pub is_default: bool,
    /// The aliases that are bound to it.
    pub aliases: Vec<String>,
    /// What it says, every key.
    #[serde(flatten)]
    pub policy: Arc<Policy>,
}

/// The policy that a request would get, and why.
#[derive(Debug, Serialize)]
pub struct Explained {
    /// The model that the request names.
    pub model: String,
    /// Is that an alias?
    pub alias: bool,
    /// The policy and its grounds.
    #[serde(flatten)]
    pub reasoned: Reasoned,
    /// Every rule as it would hold.
    pub rules: Arc<Policy>,
}

impl Inspection {
    /// The policies in the order in which they are tried.
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

    /// The policy that a request with this model, virtual key and header fields would get.
    ///
    /// # Errors
    /// [`SelectError`], where it asks for a policy that it cannot have.
    pub fn explain(&self, model: &str, key: Option<&KnownKey>, headers: &HeaderMap) -> Result<Explained, SelectError> {
        let alias = self.aliases.get(model);
        let reasoned = self.policies.reason(&facts(model, alias, key, headers))?;
        let rules = Arc::clone(&reasoned.policy);
        Ok(Explained { model: model.to_owned(), alias: alias.is_some(), reasoned, rules })
    }
}
