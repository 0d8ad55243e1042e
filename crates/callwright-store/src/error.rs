//! What can go wrong with the store.

/// The store could not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The store is switched off (`[store] url` is empty).
    #[error("there is no store: `[store] url` is empty")]
    Off,
    /// The store does not work now; the same request may succeed later.
    #[error("the store does not work: {0}")]
    Unavailable(String),
    /// The file of the database was deleted or replaced; the store is opened anew.
    #[error("the store does not work: {0}")]
    FileGone(String),
    /// The store works and will never take this: asking again is of no use.
    #[error("the store refuses this: {0}")]
    Refused(String),
    /// The cursor is not one that [`Traces::list`](super::Traces::list) gave.
    #[error("`{0}` is not a cursor of this list; take `next` of the page before, or leave it out")]
    BadCursor(String),
}

impl StoreError {
    /// May the same request succeed later?
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::FileGone(_))
    }
}
