//! How far the jobs beside the requests are, and who works at each of them.

use std::fmt;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::StoreError;

/// The jobs. Each is worked at by one process at a time, which says again and again that it goes on; when it is silent for as long as it
/// said, another may take over, and goes on from where the work was noted last.
pub trait Jobs: Send + Sync + fmt::Debug {
    /// Takes a job for this long, or says that one goes on with it. `false`: another process is at it.
    ///
    /// # Errors
    /// [`StoreError`]; it must not be worked at then.
    fn take_job<'a>(&'a self, name: &'a str, age: Duration) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Gives a job back.
    ///
    /// # Errors
    /// [`StoreError`]; it is free when its time is over.
    fn leave_job<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;

    /// How far a job is, as it was noted last; `None` where it never was.
    ///
    /// # Errors
    /// [`StoreError`].
    fn job_cursor<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>>;

    /// Notes how far a job is. `false`: another process has taken it over meanwhile, and nothing is noted.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is noted then.
    fn note_job<'a>(&'a self, name: &'a str, cursor: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;
}
