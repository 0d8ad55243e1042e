//! Turn state: plans that wait for results of client calls or for a user's answer.

use futures_util::future::BoxFuture;

use super::StoreError;

/// Plan that waits for a client.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
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

/// Stored plans that wait for clients.
pub trait PlanStates: Send + Sync + std::fmt::Debug {
    /// Stores a plan and replaces an earlier one with its key. It is on disk when this returns.
    ///
    /// # Errors
    /// [`StoreError`] if the commit failed: the caller must continue without the stored plan.
    fn keep_plan<'a>(&'a self, row: &'a PlanRow) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns a tenant's unexpired plans with these keys, newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    fn plans<'a>(&'a self, tenant: &'a str, keys: &'a [String]) -> BoxFuture<'a, Result<Vec<PlanRow>, StoreError>>;

    /// Removes a plan that no longer waits; a missing plan is not an error.
    ///
    /// # Errors
    /// [`StoreError`].
    fn end_plan<'a>(&'a self, tenant: &'a str, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Removes at most `limit` expired plans and returns their number.
    ///
    /// # Errors
    /// [`StoreError`].
    fn forget_plans(&self, limit: u32) -> BoxFuture<'_, Result<u64, StoreError>>;
}
