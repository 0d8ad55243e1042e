//! Settings of the representations (`[representations]`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Source of the representations and their budget in prompts (`[representations]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Directory of `*.yaml` and `*.yml` files, one per toolset (relative to the configuration file's directory).
    /// Empty: none.
    pub directory: String,
    /// Maximum size of a tool's description with its patterns, in estimated tokens of four bytes. The tool's own
    /// description is never truncated. 0: models get no patterns, and only the ranking uses them.
    pub description_tokens: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { directory: String::new(), description_tokens: 256 }
    }
}
