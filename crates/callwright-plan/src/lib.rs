//! Plans: the calls that serve a request and the source of each argument.
//!
//! Owns the inputs of a plan, its generation and its progress. Must not depend on turns, HTTP or the executor of a
//! call. Requests to models go through `upstream` only.

pub mod generation;
mod keys;
pub mod producers;
pub mod progress;
mod tools;
pub mod when;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of plan generation and of the search for argument sources (`[planner]`). The budget of a plan is part of
/// the policy (`limits.plan_*`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Model alias whose model generates plans; a small, cheap model is sufficient. Empty: the model of the turn.
    pub alias: String,
    /// File of argument sources that an operator confirms or forbids (relative to the configuration file's directory).
    /// Empty: none.
    pub edges: String,
}
