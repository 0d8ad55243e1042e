//! Settings of the store (`[store]`).

use serde::{Deserialize, Serialize};

use super::PostgresSettings;
use callwright_types::Secret;

/// The store (`[store]`): where traces and intents are kept, and for how long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// `sqlite:FILE` (relative to the configuration file's directory), `sqlite::memory:`, `postgres://USER:PASSWORD@HOST/DATABASE`,
    /// or empty for no store.
    pub url: Secret,
    /// Traces that may wait to be written; more are dropped and counted.
    pub queue_traces: usize,
    /// Bytes that waiting traces may take, bodies included; more are dropped and counted.
    pub queue_bytes: usize,
    /// Most traces that one transaction writes.
    pub batch_traces: usize,
    /// Milliseconds that a first trace waits for others to share its transaction; 0 writes at once.
    pub batch_milliseconds: u64,
    /// Folder (relative to the configuration file's directory) where traces wait while the store does not take them; empty for none: they
    /// wait in the queue alone.
    pub spill_dir: String,
    /// Bytes that traces may take there; what has no room waits in the queue.
    pub spill_bytes: u64,
    /// Milliseconds that a write of traces may take before they go to disk.
    pub spill_milliseconds: u64,
    /// Seconds between two attempts to open or write a store that does not work.
    pub retry_seconds: u64,
    /// Days after which traces, vectors, verdicts, what tells of removed lessons and procedures, intents whose outcome is known, and approvals that have come to an end are removed; 0
    /// keeps them for ever.
    pub retention_days: u32,
    /// Days after which intents whose outcome is unknown are removed; 0 keeps them for ever. Until then the same call of the same
    /// session is not sent again, unless the API itself would recognise a repeat.
    pub unknown_retention_days: u32,
    /// Hours for which the proxy's part of an answer is kept for the client's return.
    pub kept_hours: u32,
    /// Milliseconds between two looks at what other processes changed; PostgreSQL tells of it besides.
    pub poll_milliseconds: u64,
    /// Seconds after which a replica that shares the database and does not say that it lives is taken for gone.
    pub replica_seconds: u64,
    /// Keys that the tokens of toolsets are sealed with before they are stored, for other replicas and the next start: 32 bytes in base64 each, with
    /// white space between them. The first one seals, each opens. Empty: tokens are not stored.
    pub seal_key: Secret,
    /// Connections to PostgreSQL.
    pub postgres: PostgresSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            url: Secret::new("sqlite:callwright.sqlite3"),
            queue_traces: 10_000,
            queue_bytes: 64 * 1024 * 1024,
            batch_traces: 512,
            batch_milliseconds: 50,
            spill_dir: "callwright-spill".to_owned(),
            spill_bytes: 1024 * 1024 * 1024,
            spill_milliseconds: 500,
            retry_seconds: 5,
            retention_days: 30,
            unknown_retention_days: 365,
            kept_hours: 168,
            poll_milliseconds: 1_000,
            replica_seconds: 15,
            seal_key: Secret::default(),
            postgres: PostgresSettings::default(),
        }
    }
}
