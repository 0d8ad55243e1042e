//! Memory: vectors that models of meaning gave for texts.

use std::fmt;

use futures_util::future::BoxFuture;

use super::StoreError;

/// A hash that stands for a text.
pub type TextHash = [u8; 32];

/// The known vectors. They are copies of what can be had again, so nothing depends on them but time.
pub trait Vectors: Send + Sync + fmt::Debug {
    /// What is known of the texts, in their order. What is asked for is in use, and does not grow old.
    ///
    /// # Errors
    /// [`StoreError`].
    fn known<'a>(
        &'a self,
        model: &'a str,
        texts: &'a [TextHash],
    ) -> BoxFuture<'a, Result<Vec<Option<Vec<u8>>>, StoreError>>;

    /// Writes vectors in one transaction; those that are known stay as they are, and are as young as new ones.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is written then.
    fn remember<'a>(
        &'a self,
        model: &'a str,
        vectors: &'a [(TextHash, Vec<u8>)],
    ) -> BoxFuture<'a, Result<(), StoreError>>;
}
