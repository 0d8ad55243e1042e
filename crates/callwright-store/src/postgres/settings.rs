//! Settings of the connections to PostgreSQL (`[store.postgres]`).

use serde::{Deserialize, Serialize};

/// Connections to PostgreSQL (`[store.postgres]`); ignored by other stores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Maximum number of connections of this process.
    pub connections: u32,
    /// Timeout in milliseconds for a free connection and for connecting.
    pub connect_milliseconds: u64,
    /// Timeout of a statement in milliseconds.
    pub statement_milliseconds: u64,
    /// Seconds after which an idle connection is closed; 0 keeps it.
    pub idle_seconds: u64,
    /// Interval in milliseconds at which an unavailable server is probed. Meanwhile requests fail without waiting.
    pub probe_milliseconds: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            connections: 10,
            connect_milliseconds: 2_000,
            statement_milliseconds: 5_000,
            idle_seconds: 600,
            probe_milliseconds: 250,
        }
    }
}
