//! Settings of learning (`[learning]`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Learning of lessons and procedures from verified outcomes (`[learning]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Whether this process learns. One of several replicas learns at a time; a replica with `false` never does, and
    /// uses the memory learned by others.
    pub enabled: bool,
    /// Maximum number of traces and of feedback entries per batch.
    #[serde(skip)]
    pub batch: u32,
    /// Maximum number of drafts that wait for verification; the oldest are dropped.
    #[serde(skip)]
    pub max_waiting: usize,
    /// Hours after which a waiting draft is dropped.
    #[serde(skip)]
    pub waiting_hours: u32,
    /// Seconds for which feedback is retried while the trace of its turn is not stored.
    #[serde(skip)]
    pub verdict_seconds: u32,
    /// Alias of the model that rewrites lessons; empty: they keep their composed text.
    pub alias: String,
    /// Maximum number of lessons sent to the model per minute.
    pub notes_per_minute: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enabled: true,
            batch: 200,
            max_waiting: 1_000,
            waiting_hours: 24,
            verdict_seconds: 60,
            alias: String::new(),
            notes_per_minute: 30,
        }
    }
}
