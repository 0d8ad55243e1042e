//! Deleting what is known of a client, of a session, or from long ago.

use jiff::Timestamp;
use serde::Serialize;

use super::{Forgot, Store, StoreError};

/// What is deleted: everything that belongs to any of these.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deletion {
    /// Clients, each by the hash of its key.
    pub tenants: Vec<String>,
    /// Sessions.
    pub sessions: Vec<String>,
    /// Turns and outcomes from before this time.
    pub before: Option<Timestamp>,
}

/// What deleting did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Deleted {
    /// Traces that are gone.
    pub traces: u64,
    /// Verdicts of applications on them.
    pub feedback: u64,
    /// Approvals, kept parts of answers, plans, and calls whose outcome is known.
    pub turn_state: u64,
    /// Lessons that lost evidence.
    pub lessons: Forgot,
    /// Procedures that lost evidence.
    pub procedures: Forgot,
    /// Representations that lost evidence.
    pub representations: Forgot,
    /// Samples that are gone.
    pub samples: Forgot,
}

impl Store {
    /// Deletes traces, verdicts and turn state of clients, sessions or an age, and all that lessons, procedures, representations and samples rest on of these: what rests
    /// on nothing else is gone with it. Calls whose outcome is unknown stay known, so that they are not sent again.
    ///
    /// # Errors
    /// [`StoreError`]; what was deleted until then is.
    pub async fn delete(&self, deletion: &Deletion) -> Result<Deleted, StoreError> {
        self.changed_here(self.noted(self.database()?.delete(deletion).await))
    }
}
