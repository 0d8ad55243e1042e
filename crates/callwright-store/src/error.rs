//! Errors of the store.

/// Failure of a store operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The store is switched off (`[store] url` is empty).
    #[error("there is no store: `store.url` is empty; set one, such as \"sqlite:callwright.sqlite3\"")]
    Off,
    /// The store does not work at present; the same request may succeed later.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// The database file was deleted or replaced; the store is reopened.
    #[error("the store is unavailable: {0}")]
    FileReplaced(String),
    /// The store works and refuses this request; a retry cannot succeed.
    #[error("the store refused the request: {0}")]
    Refused(String),
    /// The cursor does not come from [`Traces::list`](super::Traces::list).
    #[error("`{0}` is not a cursor of this list; use `next` of the previous page, or omit it")]
    BadCursor(String),
}

impl From<serde_json::Error> for StoreError {
    fn from(error: serde_json::Error) -> Self {
        Self::Refused(error.to_string())
    }
}

impl StoreError {
    /// Whether the same request may succeed later.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::FileReplaced(_))
    }
}
