//! What an operator may set about feedback.

use serde::{Deserialize, Serialize};

/// Settings of the messages to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Directory with templates `NAME.jinja` that replace the built-in ones of the same name; empty: all built in.
    pub templates: String,
    /// Read the directory again when it changes.
    pub reload: bool,
    /// Milliseconds without a further change after which the directory is read again.
    pub reload_quiet_milliseconds: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { templates: String::new(), reload: true, reload_quiet_milliseconds: 200 }
    }
}
