//! Settings of learning (`[learning]`).

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How what was verified becomes lessons and procedures (`[learning]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Does this process learn? Of several replicas one learns at a time; those for which this is `false` never do, and use what others learned.
    pub enabled: bool,
    /// Least milliseconds between two looks at what came.
    pub pause_milliseconds: u64,
    /// Traces, and verdicts, that are looked at in one go.
    pub batch: u32,
    /// Drafts that wait for their calls to be verified; of more the oldest are given up.
    pub max_waiting: usize,
    /// Hours that a draft waits.
    pub waiting_hours: u32,
    /// Seconds for which a verdict is looked at again where its turn's trace is not stored yet.
    pub verdict_seconds: u32,
    /// Seconds after which another replica takes over from one that is silent.
    pub lease_seconds: u64,
    /// Alias whose model puts lessons into its own words; empty: they stay as they were composed.
    pub alias: String,
    /// Lessons that the model is asked about in a minute.
    pub notes_per_minute: u32,
    /// Times that a request to the model is made where its provider is busy.
    pub tries: u32,
    /// Longest wait before the next try, in seconds, whatever the provider asks for.
    pub max_wait_seconds: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enabled: true,
            pause_milliseconds: 250,
            batch: 200,
            max_waiting: 1_000,
            waiting_hours: 24,
            verdict_seconds: 60,
            lease_seconds: 30,
            alias: String::new(),
            notes_per_minute: 30,
            tries: 3,
            max_wait_seconds: 30,
        }
    }
}

impl Settings {
    /// How long a job stays with a process that is silent.
    pub(super) fn lease(&self) -> Duration {
        Duration::from_secs(self.lease_seconds.max(1))
    }
}
