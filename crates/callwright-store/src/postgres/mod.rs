//! PostgreSQL driver. Owns connections, locks between replicas, error codes, and the behaviour during an outage of the
//! server. Must not contain SQL of single topics.

mod gate;
mod open;
mod run;

#[cfg(test)]
pub(super) use open::MIGRATIONS;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use sqlx::PgPool;
use sqlx::postgres::PgListener;

use gate::Gate;
pub(super) use run::PostgresTransaction;

/// Channel of change notifications; the changed topics are in the table of revisions.
pub(crate) const CHANNEL: &str = "callwright_changes";

/// PostgreSQL database, possibly shared with other replicas.
#[derive(Debug, Clone)]
pub(super) struct Postgres {
    pool: PgPool,
    /// Circuit breaker: a turn must not wait repeatedly for an unavailable server.
    gate: Arc<Gate>,
    /// Statement timeout.
    timeout: Duration,
}

impl Postgres {
    /// Waits for running statements and closes the connections.
    pub(super) async fn close(&self) {
        self.pool.close().await;
    }
    /// Calls `on_change` after a change by any replica, and after each gap in the subscription that may have lost a
    /// notification. Ends when the database is closed.
    pub(crate) async fn listen(self, on_change: impl Fn()) {
        while !self.pool.is_closed() {
            // An error is another gap: polling finds changes until the server is available again.
            let _ = self.listen_once(&on_change).await;
            tokio::time::sleep(self.gate.probe()).await;
        }
    }

    async fn listen_once(&self, on_change: &impl Fn()) -> Result<(), sqlx::Error> {
        let mut listener = PgListener::connect_with(&self.pool).await?;
        listener.listen(CHANNEL).await?;
        loop {
            on_change();
            if listener.try_recv().await?.is_none() {
                return Ok(());
            }
        }
    }
}
