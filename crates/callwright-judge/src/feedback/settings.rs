//! Settings of feedback messages.

use serde::{Deserialize, Serialize};

/// Settings of the messages to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Directory with templates `NAME.jinja` that replace the built-in ones of the same name. Empty: built-in templates
    /// only.
    pub templates: String,
    /// Whether to reload the directory when it changes.
    pub reload: bool,
    /// Quiet time in milliseconds after the last change before the directory is reloaded.
    pub reload_quiet_milliseconds: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { templates: String::new(), reload: true, reload_quiet_milliseconds: 200 }
    }
}
