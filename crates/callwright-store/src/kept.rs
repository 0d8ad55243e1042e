//! Turn state: the proxy's part of an answer that also contains calls of the client's own tools.

use futures_util::future::BoxFuture;

use super::StoreError;

/// Kept part and its identity. All members except the turn and the document are hashes, so that they disclose nothing
/// about the client.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct KeptRow {
    /// Trace id of the turn that produced the answer.
    pub turn: String,
    /// Tenant of the conversation.
    pub tenant: String,
    /// Ids of the calls that the client received.
    pub calls: String,
    /// Conversation since the last user message.
    pub context: String,
    /// Full conversation.
    pub history: String,
    /// Document of the part.
    pub document: String,
}

/// Stored parts of answers.
pub trait KeptParts: Send + Sync + std::fmt::Debug {
    /// Stores a part and replaces an earlier one of the same turn. It is on disk when this returns.
    ///
    /// # Errors
    /// [`StoreError`] if the commit failed: the caller must continue without the part.
    fn keep<'a>(&'a self, row: &'a KeptRow) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns a tenant's unexpired parts of answers with these calls, newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    fn kept<'a>(&'a self, tenant: &'a str, calls: &'a [String]) -> BoxFuture<'a, Result<Vec<KeptRow>, StoreError>>;

    /// Removes at most `limit` expired parts and returns their number.
    ///
    /// # Errors
    /// [`StoreError`].
    fn forget_kept(&self, limit: u32) -> BoxFuture<'_, Result<u64, StoreError>>;
}
