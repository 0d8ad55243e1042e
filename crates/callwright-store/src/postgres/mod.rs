//! What is PostgreSQL's own: connections, locks between replicas, error codes, and going on when the server is away.

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
pub(super) use run::Transaction;

/// A PostgreSQL database that other replicas may use too.
#[derive(Debug, Clone)]
pub(super) struct Postgres {
    pool: PgPool,
    /// Shut while the server does not answer: a turn must not wait again and again for what is known to be away.
    gate: Arc<Gate>,
    /// How long a statement may take.
    patience: Duration,
}

impl Postgres {
    /// Waits for what runs and closes the connections.
    pub(super) async fn close(&self) {
        self.pool.close().await;
    }
}
