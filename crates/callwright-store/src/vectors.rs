//! Memory: cached embedding vectors of texts.

use std::fmt;

use futures_util::future::BoxFuture;

use super::StoreError;

/// Hash that identifies a text.
pub type TextHash = [u8; 32];

/// Cached vectors. They can be computed again, so that a loss costs only time.
pub trait Vectors: Send + Sync + fmt::Debug {
    /// Returns the vectors of the texts, in their order; `None` for missing ones. A read resets the age of a vector.
    fn load<'a>(
        &'a self,
        model: &'a str,
        texts: &'a [TextHash],
    ) -> BoxFuture<'a, Result<Vec<Option<Vec<u8>>>, StoreError>>;

    /// Writes vectors in one transaction. Existing ones are kept, and their age is reset.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is written then.
    fn save<'a>(&'a self, model: &'a str, vectors: &'a [(TextHash, Vec<u8>)]) -> BoxFuture<'a, Result<(), StoreError>>;
}
