//! Pagination cursor of the trace list.

use std::fmt;
use std::str::FromStr;

use super::{StoreError, TraceSummary};

/// Last trace of a page: the next page holds older ones. Stable while new traces arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) started_at: i64,
    pub(super) id: String,
}

impl Cursor {
    /// Returns the cursor after this trace.
    pub(super) fn of(trace: &TraceSummary) -> Self {
        Self { started_at: trace.started_at.as_millisecond(), id: trace.id.clone() }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.started_at, self.id)
    }
}

impl FromStr for Cursor {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('.').and_then(|(time, id)| Some((time.parse().ok()?, id.to_owned())));
        let (started_at, id) = parts.ok_or_else(|| StoreError::BadCursor(text.to_owned()))?;
        Ok(Self { started_at, id })
    }
}
