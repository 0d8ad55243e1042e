//! Leases: who does something alone, and which replicas live. Their times are the database's, so that clocks that differ do no harm.

use std::time::Duration;

use super::{Database, Statement};
use crate::{Settings, StoreError};

/// What the name of a replica's own lease begins with: it lives as long as it renews it.
pub(super) const REPLICA: &str = "replica/";

/// What the name of a job's lease begins with.
pub(super) const JOB: &str = "job/";

const RELEASE: &str = "DELETE FROM leases WHERE name = $1 AND owner = $2";

impl Database {
    /// Takes a lease that is free or has run out, or renews one's own. `false`: somebody else has it.
    pub(crate) async fn lease(&self, name: &str, owner: &str, age: Duration) -> Result<bool, StoreError> {
        let clock = self.clock();
        let take = Statement::beginning(format!(
            "INSERT INTO leases (name, owner, expires_at) VALUES ($1, $2, {clock} + $3) \
            ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, expires_at = excluded.expires_at \
            WHERE leases.owner = excluded.owner OR leases.expires_at <= {clock}"
        ));
        let age = i64::try_from(age.as_millis()).unwrap_or(i64::from(u32::MAX));
        Ok(self.execute(take.usual(true).bind(name).bind(owner).bind(age)).await? > 0)
    }

    /// Gives a lease back; one that somebody else has is left to them.
    pub(crate) async fn release(&self, name: &str, owner: &str) -> Result<(), StoreError> {
        self.execute(Statement::new(RELEASE).bind(name).bind(owner)).await.map(drop)
    }

    /// Says that this replica lives.
    pub(crate) async fn live(&self, owner: &str, settings: &Settings) -> Result<(), StoreError> {
        if self.has_replicas() {
            let age = Duration::from_secs(settings.replica_seconds.max(1));
            self.lease(&format!("{REPLICA}{owner}"), owner, age).await?;
        }
        Ok(())
    }

    /// Says that this replica lives no more. One that cannot say so is known not to live when its lease has run out.
    pub(crate) async fn leave(&self, owner: &str) {
        if self.has_replicas() {
            let _ = self.release(&format!("{REPLICA}{owner}"), owner).await;
            let _ = self.nothing_under_way(owner).await;
        }
    }

    /// Removes the leases of replicas and jobs that ended without giving them back.
    pub(crate) async fn forget_leases(&self, limit: u32) -> Result<u64, StoreError> {
        let clock = self.clock();
        let forget = Statement::beginning(format!(
            "DELETE FROM leases WHERE name IN (SELECT name FROM leases WHERE expires_at <= {clock} ORDER BY name LIMIT $1)"
        ));
        self.execute(forget.usual(true).bind(limit)).await
    }
}
