//! Turn state: the proxy's part of an answer of which the client got its own calls.

use futures_util::future::BoxFuture;

use super::StoreError;

/// What tells one kept part from another. All but the turn are hashes: of what the client is and says, nothing can be read here.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct KeptRow {
    /// Trace id of the turn that gave the answer.
    pub turn: String,
    /// Whose conversation it is.
    pub tenant: String,
    /// The ids of the calls that the client has.
    pub calls: String,
    /// The conversation since the user spoke last.
    pub context: String,
    /// The whole conversation.
    pub history: String,
    /// The part itself.
    pub document: String,
}

/// The kept parts.
pub trait KeptParts: Send + Sync + std::fmt::Debug {
    /// Keeps a part, in place of what was kept of the same turn. It is on disk when this returns.
    ///
    /// # Errors
    /// [`StoreError`] where it could not be committed: whoever depends on it must do without.
    fn keep<'a>(&'a self, row: &'a KeptRow) -> BoxFuture<'a, Result<(), StoreError>>;

    /// A tenant's parts of answers with these calls, the newest first; those that have expired are gone.
    ///
    /// # Errors
    /// [`StoreError`].
    fn kept<'a>(&'a self, tenant: &'a str, calls: &'a [String]) -> BoxFuture<'a, Result<Vec<KeptRow>, StoreError>>;

    /// Removes at most `limit` parts that have expired; says how many.
    ///
    /// # Errors
    /// [`StoreError`].
    fn forget_kept(&self, limit: u32) -> BoxFuture<'_, Result<u64, StoreError>>;
}
