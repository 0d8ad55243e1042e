//! Settings of the policies (`[policies]`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Location of the policies (`[policies]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Directory of `*.yaml` and `*.yml` files, one policy each, relative to the configuration file's directory.
    /// Empty: the built-in `default`, `strict` and `shadow`.
    pub directory: String,
    /// Name of the policy that applies if no alias binds one and none matches.
    pub default: String,
    /// Whether the directory is read again when it changes.
    pub reload: bool,
    /// Milliseconds without a further change after which the directory is read again.
    pub reload_quiet_milliseconds: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { directory: String::new(), default: "default".to_owned(), reload: true, reload_quiet_milliseconds: 200 }
    }
}
