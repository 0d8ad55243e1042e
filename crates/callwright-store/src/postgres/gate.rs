//! The gate before a server that does not answer.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use sqlx::PgPool;

use crate::StoreError;

/// Open, or shut with the reason. Who finds the server away shuts it; a task opens it again when the server is back.
#[derive(Debug)]
pub(super) struct Gate {
    reason: ArcSwapOption<String>,
    probe: Duration,
}

impl Gate {
    /// An open gate; a shut one is looked behind every `probe`.
    pub(super) fn new(probe: Duration) -> Self {
        Self { reason: ArcSwapOption::empty(), probe }
    }

    /// Time between two looks.
    pub(super) const fn probe(&self) -> Duration {
        self.probe
    }

    /// May the server be asked?
    pub(super) fn pass(&self) -> Result<(), StoreError> {
        match &*self.reason.load() {
            None => Ok(()),
            Some(reason) => Err(StoreError::Unavailable(reason.to_string())),
        }
    }

    /// Nobody passes until the server answers. Needs a Tokio runtime.
    pub(super) fn shut(self: &Arc<Self>, pool: &PgPool, reason: &str) {
        let was_open = self.reason.swap(Some(Arc::new(reason.to_owned()))).is_none();
        if was_open {
            tokio::spawn(open_again(Arc::clone(self), pool.clone()));
        }
    }
}

/// Opens the gate as soon as the server answers; ends with the pool.
async fn open_again(gate: Arc<Gate>, pool: PgPool) {
    while !pool.is_closed() {
        tokio::time::sleep(gate.probe).await;
        if sqlx::query("SELECT 1").execute(&pool).await.is_ok() {
            gate.reason.store(None);
            return;
        }
    }
}
