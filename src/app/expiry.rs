//! Turn state does not outlive its time.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::pipeline::Pipeline;
use callwright_store::{KeptParts, PlanStates, Store};

/// Pause after a sweep that found little.
const PAUSE: Duration = Duration::from_secs(30);

/// Most rows of a kind that one sweep removes: it holds the write lock meanwhile.
const ROWS: u32 = 500;

/// Pause after a sweep that left some: the lock is free most of the time.
const PAUSE_AGAIN: Duration = Duration::from_millis(100);

/// Removes what has expired until `ending` is cancelled.
pub(super) fn start(store: Arc<Store>, pipeline: Arc<Pipeline>, ending: CancellationToken) {
    tokio::spawn(async move {
        loop {
            // What a store that is down does not do is done when it is up again.
            let removed = store.forget_kept(ROWS).await.unwrap_or(0).max(store.forget_plans(ROWS).await.unwrap_or(0));
            let _ = pipeline.approvals().sweep().await;
            let pause = if removed >= u64::from(ROWS) { PAUSE_AGAIN } else { PAUSE };
            tokio::select! {
                () = ending.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    });
}
