//! Changes that other replicas tell of.

use sqlx::postgres::PgListener;

use super::Postgres;

/// Where replicas tell each other that something changed; what it is, stands in the table of revisions.
pub(crate) const CHANNEL: &str = "callwright_changes";

impl Postgres {
    /// Calls `on_change` whenever another replica, or this one, changed something, and after each gap in which it may have missed that.
    /// Ends when the database is closed.
    pub(crate) async fn listen(self, on_change: impl Fn()) {
        while !self.pool.is_closed() {
            // An error is one more gap: until the server is back, looking every now and then has to do.
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
