//! Settings of the store (`[store]`).

use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use callwright_types::Secret;

/// Maximum number of rows of each kind per sweep: a sweep holds the write lock, and traces and intents wait for it.
pub const SWEEP_ROWS: u32 = 500;

/// Hours of a day, for retentions.
pub(super) const HOURS_PER_DAY: i64 = 24;

/// The store (`[store]`): location and retention of traces and intents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// `sqlite:FILE` (relative to the configuration file's directory), `sqlite::memory:`, `postgres://USER:PASSWORD@HOST/DATABASE`,
    /// or empty for no store.
    pub url: Secret,
    /// Maximum number of traces that wait to be written; more are dropped and counted.
    #[serde(skip)]
    pub queue_traces: usize,
    /// Maximum size of waiting traces in bytes, bodies included; more are dropped and counted.
    pub queue_bytes: usize,
    /// Maximum number of traces in one transaction.
    #[serde(skip)]
    pub batch_traces: usize,
    /// Milliseconds that the first trace of a batch waits for others; 0 writes at once.
    #[serde(skip)]
    pub batch_milliseconds: u64,
    /// Folder (relative to the configuration file's directory) for traces during a store outage; empty keeps them in
    /// the queue only.
    pub spill_dir: String,
    /// Maximum size of that folder in bytes; when it is full, traces remain in the queue.
    pub spill_bytes: u64,
    /// Seconds between two attempts to open or write an unavailable store.
    pub retry_seconds: u64,
    /// Days until traces, vectors, feedback, records of removed lessons and procedures, intents with a known outcome,
    /// and closed approvals are removed; 0 keeps them for ever.
    pub retention_days: u32,
    /// Days until intents with an unknown outcome are removed; 0 keeps them for ever. Until then the same call of the
    /// same session is not sent again, unless the API itself recognises a repeat.
    pub unknown_retention_days: u32,
    /// Hours for which the proxy's part of an answer is kept until the client's next request.
    pub kept_hours: u32,
    /// Days for which the owners of responses and their items, containers and audio are kept (`keys.unknown_objects`); 0
    /// keeps them for ever. Owners of files and of everything else that the provider keeps until it is deleted are kept
    /// as long.
    pub object_days: u32,
    /// Interval in milliseconds at which changes of other processes are polled; PostgreSQL also sends notifications.
    pub poll_milliseconds: u64,
    /// Keys that encrypt the tokens of toolsets for storage, so that other replicas and the next start can use them: 32
    /// bytes each in base64, separated by white space. The first one encrypts, each decrypts. Empty: tokens are not
    /// stored.
    pub seal_key: Secret,
    /// Connections to PostgreSQL.
    pub postgres: PostgresSettings,
}

impl Settings {
    /// Returns the retention of kept parts and plans.
    pub(super) fn kept_duration(&self) -> SignedDuration {
        SignedDuration::from_hours(i64::from(self.kept_hours))
    }

    /// Returns the retention of the owners of responses; `None` without a limit.
    pub(super) fn object_duration(&self) -> Option<SignedDuration> {
        (self.object_days > 0).then(|| SignedDuration::from_hours(HOURS_PER_DAY * i64::from(self.object_days)))
    }
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
            retry_seconds: 5,
            retention_days: 30,
            unknown_retention_days: 365,
            kept_hours: 168,
            object_days: 90,
            poll_milliseconds: 1_000,
            seal_key: Secret::default(),
            postgres: PostgresSettings::default(),
        }
    }
}

/// Connections to PostgreSQL (`[store.postgres]`); ignored by other stores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PostgresSettings {
    /// Maximum number of connections of this process.
    pub connections: u32,
    /// Timeout in milliseconds for a free connection and for connecting.
    #[serde(skip)]
    pub connect_milliseconds: u64,
    /// Timeout of a statement in milliseconds.
    #[serde(skip)]
    pub statement_milliseconds: u64,
    /// Interval in milliseconds at which an unavailable server is probed. Meanwhile requests fail without waiting.
    #[serde(skip)]
    pub probe_milliseconds: u64,
}

impl Default for PostgresSettings {
    fn default() -> Self {
        Self { connections: 10, connect_milliseconds: 2_000, statement_milliseconds: 5_000, probe_milliseconds: 250 }
    }
}
