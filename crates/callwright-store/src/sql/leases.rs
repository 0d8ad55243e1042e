//! Leases of jobs and replicas. Their times come from the database's clock, so that clock differences between replicas
//! are harmless.

use std::time::Duration;

use super::{Database, Statement};
use crate::StoreError;

/// Name prefix of a replica's own lease, which it renews as a heartbeat.
pub(super) const REPLICA: &str = "replica/";

/// Time after its last heartbeat at which a replica counts as stopped. The waits of its turns end then.
pub(crate) const REPLICA_TIMEOUT: Duration = Duration::from_secs(15);

/// Name prefix of a job's lease.
pub(super) const JOB: &str = "job/";

const RELEASE: &str = "DELETE FROM leases WHERE name = $1 AND owner = $2";

impl Database {
    /// Acquires a lease that is free or expired, or renews the owner's lease. Returns `false` if another owner holds
    /// it.
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

    /// Releases a lease; has no effect if another owner holds it.
    pub(crate) async fn release(&self, name: &str, owner: &str) -> Result<(), StoreError> {
        self.execute(Statement::new(RELEASE).bind(name).bind(owner)).await.map(drop)
    }

    /// Sends the heartbeat of this replica.
    pub(crate) async fn live(&self, owner: &str) -> Result<(), StoreError> {
        if self.has_replicas() {
            self.lease(&format!("{REPLICA}{owner}"), owner, REPLICA_TIMEOUT).await?;
        }
        Ok(())
    }

    /// Releases the lease of this replica and its in-flight requests. A replica that fails to do so counts as gone when
    /// its lease expires.
    pub(crate) async fn leave(&self, owner: &str) {
        if self.has_replicas() {
            let _ = self.release(&format!("{REPLICA}{owner}"), owner).await;
            let _ = self.nothing_under_way(owner).await;
        }
    }

    /// Removes expired leases of replicas and jobs.
    pub(crate) async fn forget_leases(&self, limit: u32) -> Result<u64, StoreError> {
        let clock = self.clock();
        let forget = Statement::beginning(format!(
            "DELETE FROM leases WHERE name IN (SELECT name FROM leases WHERE expires_at <= {clock} ORDER BY name LIMIT $1)"
        ));
        self.execute(forget.usual(true).bind(limit)).await
    }
}
