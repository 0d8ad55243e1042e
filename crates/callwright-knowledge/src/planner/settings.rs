//! Settings of the planner (`[planner]`).

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
