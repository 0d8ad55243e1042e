//! The virtual keys that were given out.

use std::fmt;

use futures_util::future::BoxFuture;

use super::{Revision, StoreError};
use callwright_types::VirtualKey;

/// The stored virtual keys. They hold hashes of secrets, and no secret.
pub trait Keys: Send + Sync + fmt::Debug {
    /// Writes a key: a new one, or one as it was `seen` before and is changed now. It is on disk when this returns.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is written then.
    fn put_key<'a>(&'a self, key: &'a VirtualKey, seen: Option<Revision>) -> BoxFuture<'a, Result<KeyPut, StoreError>>;

    /// The keys that changed after this revision, the oldest change first: at most `limit` of them. Revoked ones are among them.
    ///
    /// # Errors
    /// [`StoreError`].
    fn keys_changed(&self, after: Revision, limit: u32) -> BoxFuture<'_, Result<KeyChanges, StoreError>>;

    /// The key of this id or, where there is none, the latest of this name; with its revision.
    ///
    /// # Errors
    /// [`StoreError`].
    fn key<'a>(&'a self, id_or_name: &'a str) -> BoxFuture<'a, Result<Option<(VirtualKey, Revision)>, StoreError>>;
}

/// What writing a key did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyPut {
    /// It is there.
    Written,
    /// Nothing: somebody else changed it in between.
    Outdated,
    /// Nothing: another key that is not revoked has its name.
    NameTaken,
}

/// Keys that changed after a revision.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyChanges {
    /// As they are now.
    pub keys: Vec<VirtualKey>,
    /// The revision of the last one; that of the question where there is none.
    pub upto: Revision,
    /// Are there more?
    pub more: bool,
}
