//! Settings of the planner (`[planner]`).

use serde::{Deserialize, Serialize};

/// What the search for sources of arguments knows besides the tools (`[planner]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// File of what an operator confirms and forbids as a source of arguments (relative to the configuration file's directory). Empty: none.
    pub edges: String,
    /// Read the file again when it changes.
    pub reload: bool,
    /// Milliseconds without a further change after which the file is read again.
    pub reload_quiet_milliseconds: u64,
    /// Bytes of clients' lists of tools that are kept ready to be searched for sources; of more, those used longest ago are read anew.
    pub client_tools_cache_bytes: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            edges: String::new(),
            reload: true,
            reload_quiet_milliseconds: 500,
            client_tools_cache_bytes: 16 * 1024 * 1024,
        }
    }
}
