//! Settings of the connections to PostgreSQL (`[store.postgres]`).

use serde::{Deserialize, Serialize};

/// Connections to PostgreSQL (`[store.postgres]`); of no effect for other stores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Most connections of this process.
    pub connections: u32,
    /// Milliseconds that a free connection, or the server's first answer, is waited for.
    pub connect_milliseconds: u64,
    /// Milliseconds that a statement may take.
    pub statement_milliseconds: u64,
    /// Seconds after which a connection that nobody uses is closed; 0 keeps it.
    pub idle_seconds: u64,
    /// Milliseconds between two looks whether a server that did not answer is back. Meanwhile nothing waits for it.
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
