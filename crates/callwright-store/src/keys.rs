//! Stored virtual keys. They contain hashes of secrets, and no secrets.

use super::{Revision, Store, StoreError};
use callwright_types::VirtualKey;

impl Store {
    /// Writes a new key, or a change of the key that was read at revision `seen`. It is on disk when this returns.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is written then.
    pub async fn put_key(&self, key: &VirtualKey, seen: Option<Revision>) -> Result<KeyPut, StoreError> {
        self.notify_change(self.record_health(self.database()?.put_key(key, seen).await))
    }

    /// Returns at most `limit` keys that changed after this revision, oldest change first. Includes revoked keys.
    pub async fn keys_changed(&self, after: Revision, limit: u32) -> Result<KeyChanges, StoreError> {
        self.database()?.keys_changed(after, limit).await
    }

    /// Returns the key with this id or, if there is none, the latest with this name; with its revision.
    pub async fn key(&self, id_or_name: &str) -> Result<Option<(VirtualKey, Revision)>, StoreError> {
        self.database()?.key(id_or_name).await
    }
}

/// Result of [`Store::put_key`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyPut {
    Written,
    /// Not stored: the key was changed after it was read.
    Outdated,
    /// Not stored: another key that is not revoked has the same name.
    NameTaken,
}

/// Keys that changed after a revision.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyChanges {
    /// Current versions of the keys.
    pub keys: Vec<VirtualKey>,
    /// Revision of the last key; the requested revision if there is none.
    pub upto: Revision,
    /// Whether more changes follow.
    pub more: bool,
}
