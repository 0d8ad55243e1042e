//! What an operator may set about judging.

use serde::{Deserialize, Serialize};

/// Settings of the scanner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Bytes of memory for compiled JSON Schemas. A compiled schema takes about forty times its text.
    pub validator_cache_bytes: u64,
    /// Bytes of JSON Schema text of one tool, beyond which its calls are judged by name and JSON syntax alone.
    pub max_schema_bytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { validator_cache_bytes: 48 * 1024 * 1024, max_schema_bytes: 512 * 1024 }
    }
}
