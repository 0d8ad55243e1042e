//! Settings of virtual keys.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::change::{check_name, check_paths};
use super::known::globs;
use callwright_types::KeyLimits;

/// Virtual keys (`[keys]`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Source of the keys that clients use.
    pub mode: KeyMode,
    /// Whether a key with limited models, tokens or budget may send pass-through requests, which are neither parsed nor
    /// metered.
    pub unmetered: Unmetered,
    /// Paths below `/v1` that are passed through for keys without a list of their own: `files` covers the path and
    /// everything below it, `*` covers everything.
    pub pass_through: Vec<String>,
    /// Owner of what a key stores in the provider's account: files, responses, conversations and so on.
    pub object_owner: ObjectSharing,
    /// Handling of requests of a key that name an object of the provider which no key got through this proxy. Objects
    /// of other keys are always answered as ones that do not exist.
    pub unknown_objects: UnknownObjects,
    /// Globs on the ids of the provider's objects that all keys may name and read, such as `vs_...`, `pmpt_...` or
    /// `connector_*`.
    pub shared_objects: Vec<String>,
    /// Number of tokens reserved for the answer of a turn whose request sets no limit, for keys with limited tokens or
    /// budget.
    #[serde(skip)]
    pub reserved_answer_tokens: u64,
    /// Limits that all keys of a group share, by the group's name.
    pub groups: BTreeMap<String, KeyLimits>,
}

/// Paths that use or list models, and do not expose data that other users of the provider's account stored.
const SHARED_PATHS: [&str; 6] =
    ["models", "embeddings", "audio", "images", "messages/count_tokens", "responses/input_tokens"];

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: KeyMode::PassThrough,
            unmetered: Unmetered::Refuse,
            pass_through: SHARED_PATHS.map(str::to_owned).to_vec(),
            object_owner: ObjectSharing::Key,
            unknown_objects: UnknownObjects::Deny,
            shared_objects: Vec::new(),
            reserved_answer_tokens: 1_000,
            groups: BTreeMap::new(),
        }
    }
}

impl Settings {
    /// Whether every client needs a virtual key.
    pub fn is_required(&self) -> bool {
        self.mode == KeyMode::Required
    }

    /// Returns the faults: the key below `keys`, and the message.
    pub fn faults(&self) -> Vec<(String, String)> {
        let mut faults = Vec::new();
        if let Err(error) = check_paths("pass_through", &self.pass_through) {
            faults.push(("pass_through".to_owned(), error.to_string()));
        }
        if let Err(error) = globs(&self.shared_objects) {
            faults.push(("shared_objects".to_owned(), error.to_string()));
        }
        for (name, limits) in &self.groups {
            let place = format!("groups.{name}");
            if let Err(error) = check_name("name", name) {
                faults.push((place.clone(), format!("a group's {error}")));
            }
            faults.extend(limits.fault().map(|fault| (place, fault)));
        }
        faults
    }
}

/// Source of the keys that clients use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyMode {
    /// The provider's keys: clients' keys are forwarded where the upstream has none.
    #[default]
    PassThrough,
    /// Virtual keys: every client needs one.
    Required,
}

/// Handling of pass-through requests, which are not metered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unmetered {
    /// Refuses them for keys with a limit that they would evade.
    #[default]
    Refuse,
    /// Passes them through, and counts them as requests only.
    Allow,
}

/// Owner of what a key stores in the provider's account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ObjectSharing {
    /// The key alone.
    #[default]
    Key,
    /// All keys of its group.
    Group,
}

/// Handling of requests that name an object of unknown origin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnknownObjects {
    /// Answers them as the provider answers a request for an object that does not exist.
    #[default]
    Deny,
    /// Forwards them.
    Allow,
}
