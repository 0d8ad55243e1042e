//! What an operator may set about feedback.

use serde::{Deserialize, Serialize};

/// Settings of the messages to the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Directory with templates `NAME.jinja` that replace the built-in ones of the same name; empty: all built in.
    pub templates: String,
}
