//! Record that is made before the first byte of a request is sent.
//!
//! A request may wait for a permit of its host, and for its connection. If the proxy ends meanwhile, nothing was sent, so
//! nothing may be recorded yet: an approval is consumed and an intent committed once there is a connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::BoxFuture;
use tokio::sync::OnceCell;
use tokio::task_local;

use callwright_types::Outcome;

task_local! {
    /// Commitment of the request that this task sends. reqwest's connectors get nothing of a request.
    static COMMITMENT: Arc<Commitment>;
}

/// Record of one request, made at most once.
pub(super) struct Commitment {
    record: Box<dyn Fn() -> BoxFuture<'static, Result<(), Outcome>> + Send + Sync>,
    has_begun: AtomicBool,
    result: OnceCell<Result<(), Outcome>>,
}

/// The record of a request forbids to send it, or could not be made.
#[derive(Debug, thiserror::Error)]
#[error("the request must not be sent")]
struct Stopped;

impl Commitment {
    /// Creates a commitment that calls `record`, which returns the outcome of a request that must not be sent.
    pub(super) fn new(record: impl Fn() -> BoxFuture<'static, Result<(), Outcome>> + Send + Sync + 'static) -> Self {
        Self { record: Box::new(record), has_begun: AtomicBool::new(false), result: OnceCell::new() }
    }

    /// Runs a future whose first connection makes the record.
    pub(super) async fn of<F: Future>(self: &Arc<Self>, sending: F) -> F::Output {
        COMMITMENT.scope(Arc::clone(self), sending).await
    }

    /// Whether the record was begun, and may thus be stored.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::Relaxed)
    }

    /// Whether the record is made, so that the request may have been sent.
    pub(super) fn is_made(&self) -> bool {
        matches!(self.result.get(), Some(Ok(())))
    }

    /// Returns the outcome of a request that must not be sent.
    pub(super) fn stopped(&self) -> Option<Outcome> {
        self.result.get()?.as_ref().err().cloned()
    }

    async fn make(&self) -> Result<(), Stopped> {
        self.has_begun.store(true, Ordering::Relaxed);
        let result = self.result.get_or_init(|| (self.record)()).await;
        result.as_ref().copied().map_err(|_| Stopped)
    }
}

/// Makes the record of this task's request, if it has one, before its connection is used.
pub(super) fn commit<C: Send + 'static>(
    connection: C,
) -> BoxFuture<'static, Result<C, Box<dyn std::error::Error + Send + Sync>>> {
    let commitment = COMMITMENT.try_with(Arc::clone).ok();
    Box::pin(async move {
        if let Some(commitment) = commitment {
            commitment.make().await?;
        }
        Ok(connection)
    })
}

impl std::fmt::Debug for Commitment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Commitment").field("result", &self.result).finish_non_exhaustive()
    }
}
