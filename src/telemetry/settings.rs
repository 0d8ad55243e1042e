//! Settings of the logs (`[telemetry]`).

use serde::{Deserialize, Serialize};

/// How logs are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// A line for people.
    #[default]
    Text,
    /// A JSON object per line, for collectors.
    Json,
}

/// Logs (`[telemetry]`); they go to standard error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// What is logged: `error`, `warn`, `info`, `debug`, `trace`, or directives such as `info,callwright::upstream=debug`.
    pub log: String,
    /// `text` or `json`.
    pub format: LogFormat,
}

impl Default for Settings {
    fn default() -> Self {
        Self { log: "info".to_owned(), format: LogFormat::Text }
    }
}
