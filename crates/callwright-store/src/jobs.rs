//! Background jobs: their leases and progress.

use std::fmt;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::StoreError;

/// Background jobs. One process at a time holds the lease of a job and renews it. After the lease expires, another
/// process may take over and continues at the last stored cursor.
pub trait Jobs: Send + Sync + fmt::Debug {
    /// Acquires or renews the lease of a job for this duration. Returns `false` if another process holds it.
    ///
    /// # Errors
    /// [`StoreError`]; the job must not run then.
    fn take_job<'a>(&'a self, name: &'a str, age: Duration) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Releases the lease of a job.
    ///
    /// # Errors
    /// [`StoreError`]; the job is free when its lease expires.
    fn leave_job<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns the last stored cursor of a job; `None` if there is none.
    ///
    /// # Errors
    /// [`StoreError`].
    fn job_cursor<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>>;

    /// Stores the cursor of a job. Returns `false` without storing it if another process has taken over.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is stored then.
    fn note_job<'a>(&'a self, name: &'a str, cursor: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;
}
