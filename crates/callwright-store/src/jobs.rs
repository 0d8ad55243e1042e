//! Background jobs: their leases and progress.
//!
//! One process at a time holds the lease of a job and renews it. After the lease expires, another process may take over
//! and continues at the last stored cursor.

use std::time::Duration;

use super::{Store, StoreError};

impl Store {
    /// Acquires or renews the lease of a job for this duration. Returns `false` if another process holds it.
    ///
    /// # Errors
    /// [`StoreError`]; the job must not run then.
    pub async fn take_job(&self, name: &str, age: Duration) -> Result<bool, StoreError> {
        self.record_health(self.database()?.take_job(name, self.owner(), age).await)
    }

    /// Releases the lease of a job.
    ///
    /// # Errors
    /// [`StoreError`]; the job is free when its lease expires.
    pub async fn leave_job(&self, name: &str) -> Result<(), StoreError> {
        self.record_health(self.database()?.leave_job(name, self.owner()).await)
    }

    /// Returns the last stored cursor of a job; `None` if there is none.
    pub async fn job_cursor(&self, name: &str) -> Result<Option<String>, StoreError> {
        self.database()?.job_cursor(name).await
    }

    /// Stores the cursor of a job. Returns `false` without storing it if another process has taken over.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is stored then.
    pub async fn note_job(&self, name: &str, cursor: &str) -> Result<bool, StoreError> {
        self.record_health(self.database()?.note_job(name, self.owner(), cursor).await)
    }
}
