//! Settings of virtual keys.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::change::{check_name, check_paths};
use callwright_types::KeyLimits;

/// Virtual keys (`[keys]`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Whose keys clients use.
    pub mode: KeyMode,
    /// May a key whose models, tokens or money are limited send what is passed through, and so neither read nor counted?
    pub unmetered: Unmetered,
    /// Paths below `/v1` that keys without a list of their own may have passed through: `files` stands for it and everything below, `*` for
    /// everything.
    pub pass_through: Vec<String>,
    /// Milliseconds between two exchanges of what keys used with the store.
    pub sync_milliseconds: u64,
    /// Tokens that are reserved for the answer of a turn whose request does not limit them, for keys whose tokens or money are limited.
    pub reserved_answer_tokens: u64,
    /// Limits that all keys of a group have together, by the group's name.
    pub groups: BTreeMap<String, KeyLimits>,
}

/// Paths that use a model or list models, and show nothing that other users of the provider's account stored there.
const SHARED_PATHS: [&str; 4] = ["models", "embeddings", "audio", "images"];

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: KeyMode::PassThrough,
            unmetered: Unmetered::Refuse,
            pass_through: SHARED_PATHS.map(str::to_owned).to_vec(),
            sync_milliseconds: 1_000,
            reserved_answer_tokens: 1_000,
            groups: BTreeMap::new(),
        }
    }
}

impl Settings {
    /// Does nobody come in without a key of the proxy's own?
    pub fn is_required(&self) -> bool {
        self.mode == KeyMode::Required
    }

    /// What cannot be, as the key below `keys` and what is wrong with it.
    pub fn faults(&self) -> Vec<(String, String)> {
        let of_group = |(name, limits): (&String, &KeyLimits)| {
            let place = format!("groups.{name}");
            let of_name = check_name("name", name).err().map(|error| (place.clone(), format!("a group's {error}")));
            of_name.into_iter().chain(limits.fault().map(|fault| (place, fault))).collect::<Vec<_>>()
        };
        let of_paths = check_paths("pass_through", &self.pass_through).err();
        let of_paths = of_paths.map(|error| ("pass_through".to_owned(), error.to_string()));
        of_paths.into_iter().chain(self.groups.iter().flat_map(of_group)).collect()
    }
}

/// Whose keys clients use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyMode {
    /// Their own of the provider: what they send goes on, where the upstream has no key.
    #[default]
    PassThrough,
    /// Keys that the proxy gave out: nobody comes in without one.
    Required,
}

/// What becomes of requests that are passed through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unmetered {
    /// They are refused for keys with a limit that they would get around.
    #[default]
    Refuse,
    /// They are passed through, and count as requests alone.
    Allow,
}
