//! Notifications of changes by other replicas.

use sqlx::postgres::PgListener;

use super::Postgres;

/// Channel of change notifications; the changed topics are in the table of revisions.
pub(crate) const CHANNEL: &str = "callwright_changes";

impl Postgres {
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
