//! Periodic removal of expired turn state.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::pipeline::Pipeline;
use callwright_common::tasks::supervised;
use callwright_store::{SWEEP_ROWS, Store};

/// Pause after a sweep that removed few rows.
const PAUSE: Duration = Duration::from_secs(30);

/// Pause after a sweep that left expired rows; the lock is free most of the time.
const PAUSE_AGAIN: Duration = Duration::from_millis(100);

/// Removes what has expired until `ending` is cancelled.
pub(super) fn start(store: Arc<Store>, pipeline: Arc<Pipeline>, ending: CancellationToken) {
    let removing = (store, pipeline, ending);
    tokio::spawn(supervised("expiry", removing, async |(store, pipeline, ending): &mut _| {
        remove(store, pipeline, ending).await
    }));
}

async fn remove(store: &Store, pipeline: &Pipeline, ending: &CancellationToken) {
    loop {
        // While the store is down, expired rows wait for a later sweep.
        let removed = [
            store.forget_kept_parts(SWEEP_ROWS).await,
            store.forget_plans(SWEEP_ROWS).await,
            store.expire_objects(SWEEP_ROWS).await,
        ];
        let removed = removed.into_iter().flatten().max().unwrap_or_default();
        let _ = pipeline.approvals.sweep().await;
        let pause = if removed >= u64::from(SWEEP_ROWS) { PAUSE_AGAIN } else { PAUSE };
        tokio::select! {
            () = ending.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}
