//! Turn state: plans of which calls are with a client, or for which a user was asked something.

use futures_util::future::BoxFuture;

use super::StoreError;

/// A plan that waits for a client.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct PlanRow {
    /// Whose conversation it belongs to: a hash.
    pub tenant: String,
    /// What it is found by; unique for a tenant.
    pub key: String,
    /// Trace id of the turn that left it so.
    pub turn: String,
    /// The plan and how far it is.
    pub document: String,
}

/// The plans that wait for clients.
pub trait PlanStates: Send + Sync + std::fmt::Debug {
    /// Keeps a plan, in place of what was kept under its key. It is on disk when this returns.
    ///
    /// # Errors
    /// [`StoreError`] where it could not be committed: whoever depends on it must do without.
    fn keep_plan<'a>(&'a self, row: &'a PlanRow) -> BoxFuture<'a, Result<(), StoreError>>;

    /// A tenant's plans of these keys, the latest first; those that have expired are gone.
    ///
    /// # Errors
    /// [`StoreError`].
    fn plans<'a>(&'a self, tenant: &'a str, keys: &'a [String]) -> BoxFuture<'a, Result<Vec<PlanRow>, StoreError>>;

    /// Removes a plan that waits no longer; one that is not there is no error.
    ///
    /// # Errors
    /// [`StoreError`].
    fn end_plan<'a>(&'a self, tenant: &'a str, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Removes at most `limit` plans that have expired; says how many.
    ///
    /// # Errors
    /// [`StoreError`].
    fn forget_plans(&self, limit: u32) -> BoxFuture<'_, Result<u64, StoreError>>;
}
