//! Error of operations on keys.

use callwright_store::StoreError;

/// Error of an operation on a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The key does not exist.
    #[error("there is no key `{0}`; see `callwright keys list` or `GET /admin/keys`")]
    NotFound(String),
    /// Another key has the name.
    #[error("the key `{0}` already exists; use another name, or revoke that key first")]
    NameTaken(String),
    /// The key was revoked permanently.
    #[error("the key `{0}` is revoked; create a new one")]
    Revoked(String),
    /// A value is invalid.
    #[error("{0}")]
    Invalid(String),
    /// Concurrent changes interfere.
    #[error("the key `{0}` changes faster than it can be written; try again")]
    Busy(String),
    /// The system provides no random numbers.
    #[error("the system provides no random numbers, so no secret can be created; try again")]
    NoRandom,
    /// The store operation failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
