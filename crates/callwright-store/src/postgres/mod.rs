//! PostgreSQL driver. Owns connections, locks between replicas, error codes, and the behaviour during an outage of the
//! server. Must not contain SQL of single topics.

mod fault;
mod gate;
mod listen;
mod open;
mod run;
mod settings;

#[cfg(test)]
mod tests;

pub use settings::Settings;

use std::sync::Arc;
use std::time::Duration;

use sqlx::PgPool;

use gate::Gate;
pub(super) use listen::CHANNEL;
pub(super) use run::PostgresTransaction;

/// PostgreSQL database, possibly shared with other replicas.
#[derive(Debug, Clone)]
pub(super) struct Postgres {
    pool: PgPool,
    /// Circuit breaker: a turn must not wait repeatedly for a server that is known to be unavailable.
    gate: Arc<Gate>,
    /// Statement timeout.
    patience: Duration,
}

impl Postgres {
    /// Waits for running statements and closes the connections.
    pub(super) async fn close(&self) {
        self.pool.close().await;
    }
}
