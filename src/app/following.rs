//! Waiting for the next change of the store.

use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use callwright_store::{Revisions, StoreError};

/// Pause after the store could not be read or written.
pub(super) const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);

/// Waits until the store is worth reading again: after a change or, if the last read failed, after a pause. Returns
/// `false` if the process ends or there is no store.
pub(super) async fn is_due<T: Sync>(
    looked: &Result<T, StoreError>,
    changes: &mut watch::Receiver<Revisions>,
    ending: &CancellationToken,
) -> bool {
    let next = async {
        match looked {
            Err(StoreError::Off) => false,
            Ok(_) => changes.changed().await.is_ok(),
            Err(_) => {
                tokio::time::sleep(PAUSE_AFTER_FAILURE).await;
                true
            }
        }
    };
    tokio::select! {
        () = ending.cancelled() => false,
        is_due = next => is_due,
    }
}
