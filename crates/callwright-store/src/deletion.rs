//! Deletion of data by client, session or age.

use jiff::Timestamp;
use serde::Serialize;

use super::{ForgetCounts, Store, StoreError};

/// Selection of data to delete: everything that matches any of these.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deletion {
    /// Clients, each as the hash of its key.
    pub tenants: Vec<String>,
    /// Session ids.
    pub sessions: Vec<String>,
    /// Turns and outcomes from before this time.
    pub before: Option<Timestamp>,
}

/// Counts of deleted and changed items.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct DeletionCounts {
    pub traces: u64,
    /// Deleted feedback of applications.
    pub feedback: u64,
    /// Deleted approvals, kept parts of answers, plans, and intents with a known outcome.
    pub turn_state: u64,
    /// Lessons that lost evidence.
    pub lessons: ForgetCounts,
    /// Procedures that lost evidence.
    pub procedures: ForgetCounts,
    /// Representations that lost evidence.
    pub representations: ForgetCounts,
    pub samples: ForgetCounts,
}

impl Store {
    /// Deletes traces, feedback and turn state by client, session or age, and the evidence of lessons, procedures,
    /// representations and samples that comes from them. An item without remaining evidence is deleted too. Intents
    /// with an unknown outcome are kept, so that their calls are not sent again.
    ///
    /// # Errors
    /// [`StoreError`]; deletions completed before the error are kept.
    pub async fn delete(&self, deletion: &Deletion) -> Result<DeletionCounts, StoreError> {
        self.notify_change(self.record_health(self.database()?.delete(deletion).await))
    }
}
