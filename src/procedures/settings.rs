//! Settings of procedural memory (`[procedures]`).

use serde::{Deserialize, Serialize};

/// What is kept of procedures, when one is followed as it is, and how new ones are made of them (`[procedures]`; AAG, sections 3 and 4.5).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Calls of a procedure, at most: a longer workflow is not learned.
    pub max_steps: usize,
    /// Inputs of a procedure, at most: a workflow that needs more is not learned.
    pub max_inputs: usize,
    /// Characters of a description that are kept.
    pub description_chars: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { max_steps: 12, max_inputs: 24, description_chars: 200 }
    }
}
