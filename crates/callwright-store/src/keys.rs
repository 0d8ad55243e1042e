//! Stored virtual keys.

use std::fmt;

use futures_util::future::BoxFuture;

use super::{Revision, StoreError};
use callwright_types::VirtualKey;

/// Stored virtual keys. They contain hashes of secrets, and no secrets.
pub trait Keys: Send + Sync + fmt::Debug {
    /// Writes a new key, or a change of the key that was read at revision `seen`. It is on disk when this returns.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is written then.
    fn put_key<'a>(&'a self, key: &'a VirtualKey, seen: Option<Revision>) -> BoxFuture<'a, Result<KeyPut, StoreError>>;

    /// Returns at most `limit` keys that changed after this revision, oldest change first. Includes revoked keys.
    ///
    /// # Errors
    /// [`StoreError`].
    fn keys_changed(&self, after: Revision, limit: u32) -> BoxFuture<'_, Result<KeyChanges, StoreError>>;

    /// Returns the key with this id or, if there is none, the latest with this name; with its revision.
    ///
    /// # Errors
    /// [`StoreError`].
    fn key<'a>(&'a self, id_or_name: &'a str) -> BoxFuture<'a, Result<Option<(VirtualKey, Revision)>, StoreError>>;
}

/// Result of [`Keys::put_key`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyPut {
    /// The key is stored.
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
