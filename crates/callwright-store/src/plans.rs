//! Turn state: plans that wait for results of client calls or for a user's answer.

use super::sql::database_record;
use super::{Store, StoreError};

database_record! {
    /// Plan that waits for a client.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct PlanRow {
        /// Tenant of the conversation, as a hash.
        pub tenant: String,
        /// Lookup key; unique within a tenant.
        pub key: String,
        /// Trace id of the turn that stored it.
        pub turn: String,
        /// Plan and its progress.
        pub document: String,
    }
}

impl Store {
    /// Stores a plan and replaces an earlier one with its key. It is on disk when this returns.
    ///
    /// # Errors
    /// [`StoreError`] if the commit failed: the caller must continue without the stored plan.
    pub async fn keep_plan(&self, row: &PlanRow) -> Result<(), StoreError> {
        self.record_health(self.database()?.keep_plan(row, self.settings().kept_duration()).await)
    }

    /// Returns a tenant's unexpired plans with these keys, newest first.
    pub async fn plans(&self, tenant: &str, keys: &[String]) -> Result<Vec<PlanRow>, StoreError> {
        self.database()?.plans(tenant, keys).await
    }

    /// Whether any plan of any tenant is stored.
    pub async fn has_plans(&self) -> Result<bool, StoreError> {
        self.database()?.has_plans().await
    }

    /// Removes a plan that no longer waits; a missing plan is not an error.
    pub async fn end_plan(&self, tenant: &str, key: &str) -> Result<(), StoreError> {
        self.record_health(self.database()?.end_plan(tenant, key).await)
    }

    /// Removes at most `limit` expired plans and returns their number.
    pub async fn forget_plans(&self, limit: u32) -> Result<u64, StoreError> {
        self.record_health(self.database()?.forget_plans(limit).await)
    }
}
