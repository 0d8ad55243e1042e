//! Settings of the representations (`[representations]`).

use serde::{Deserialize, Serialize};

/// Where representations are read from, and how much of them a model is shown (`[representations]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Directory of `*.yaml` and `*.yml` files, one for each toolset (relative to the configuration file's directory). Empty: none.
    pub directory: String,
    /// Read the directory again when it changes.
    pub reload: bool,
    /// Milliseconds without a further change after which the directory is read again.
    pub reload_quiet_milliseconds: u64,
    /// Tokens, about (four bytes each), that a tool's description may have with the patterns behind it. The tool's own description always
    /// stays whole; patterns get what is left. 0: models are shown none, and only the ranking uses them.
    pub description_tokens: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { directory: String::new(), reload: true, reload_quiet_milliseconds: 500, description_tokens: 256 }
    }
}
