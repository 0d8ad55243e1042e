//! Settings of the store (`[store]`).

use serde::{Deserialize, Serialize};

/// The store (`[store]`): where traces and intents are kept, and for how long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// `sqlite:FILE` (relative to the configuration file's directory), `sqlite::memory:`, or empty for no store.
    pub url: String,
    /// Traces that may wait to be written; more are dropped and counted.
    pub queue_traces: usize,
    /// Bytes that waiting traces may take, bodies included; more are dropped and counted.
    pub queue_bytes: usize,
    /// Most traces that one transaction writes.
    pub batch_traces: usize,
    /// Milliseconds that a first trace waits for others to share its transaction; 0 writes at once.
    pub batch_milliseconds: u64,
    /// Seconds between two attempts to open or write a store that does not work.
    pub retry_seconds: u64,
    /// Days after which traces, vectors, intents whose outcome is known, and approvals that have come to an end are removed; 0
    /// keeps them for ever.
    pub retention_days: u32,
    /// Days after which intents whose outcome is unknown are removed; 0 keeps them for ever. Until then the same call of the same
    /// session is not sent again, unless the API itself would recognise a repeat.
    pub unknown_retention_days: u32,
    /// Hours for which the proxy's part of an answer is kept for the client's return.
    pub kept_hours: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            url: "sqlite:callwright.sqlite3".to_owned(),
            queue_traces: 10_000,
            queue_bytes: 64 * 1024 * 1024,
            batch_traces: 512,
            batch_milliseconds: 50,
            retry_seconds: 5,
            retention_days: 30,
            unknown_retention_days: 365,
            kept_hours: 168,
        }
    }
}
