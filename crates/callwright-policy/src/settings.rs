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
}

impl Default for Settings {
    fn default() -> Self {
        Self { directory: String::new(), default: "default".to_owned() }
    }
}
