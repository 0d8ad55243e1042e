//! Circuit breaker for an unavailable server.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use sqlx::PgPool;

use crate::StoreError;

/// Circuit breaker: closed, or open with the reason. A caller that finds the server unreachable opens the circuit; a
/// background task closes it when the server answers.
#[derive(Debug)]
pub(super) struct Gate {
    reason: ArcSwapOption<String>,
    probe: Duration,
}

impl Gate {
    /// Creates a breaker with a closed circuit. An open circuit is probed every `probe`.
    pub(super) fn new(probe: Duration) -> Self {
        Self { reason: ArcSwapOption::empty(), probe }
    }

    /// Returns the probe interval.
    pub(super) const fn probe(&self) -> Duration {
        self.probe
    }

    /// Whether requests may be sent; the error holds the reason otherwise.
    pub(super) fn pass(&self) -> Result<(), StoreError> {
        match &*self.reason.load() {
            None => Ok(()),
            Some(reason) => Err(StoreError::Unavailable(reason.to_string())),
        }
    }

    /// Opens the circuit until the server answers. Requires a Tokio runtime.
    pub(super) fn shut(self: &Arc<Self>, pool: &PgPool, reason: &str) {
        let was_open = self.reason.swap(Some(Arc::new(reason.to_owned()))).is_none();
        if was_open {
            tokio::spawn(open_again(Arc::clone(self), pool.clone()));
        }
    }
}

/// Probes the server and closes the circuit when it answers; ends with the pool.
async fn open_again(gate: Arc<Gate>, pool: PgPool) {
    while !pool.is_closed() {
        tokio::time::sleep(gate.probe).await;
        if sqlx::query("SELECT 1").execute(&pool).await.is_ok() {
            gate.reason.store(None);
            return;
        }
    }
}
