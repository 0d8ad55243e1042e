//! Turn state: the proxy's part of an answer that also contains calls of the client's own tools.

use super::sql::database_record;
use super::{Store, StoreError};

database_record! {
    /// Kept part and its identity. All members except the turn and the document are hashes, so that they disclose nothing
    /// about the client.
    #[derive(Debug, Clone, PartialEq, Eq)]
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
}

impl Store {
    /// Stores a part and replaces an earlier one of the same turn. It is on disk when this returns.
    ///
    /// # Errors
    /// [`StoreError`] if the commit failed: the caller must continue without the part.
    pub async fn keep_part(&self, row: &KeptRow) -> Result<(), StoreError> {
        self.record_health(self.database()?.keep(row, self.settings().kept_duration()).await)
    }

    /// Returns a tenant's unexpired parts of answers with these calls, newest first.
    pub async fn kept_parts(&self, tenant: &str, calls: &[String]) -> Result<Vec<KeptRow>, StoreError> {
        self.database()?.kept(tenant, calls).await
    }

    /// Removes at most `limit` expired parts and returns their number.
    pub async fn forget_kept_parts(&self, limit: u32) -> Result<u64, StoreError> {
        self.record_health(self.database()?.expire_kept(limit).await)
    }
}
