//! Virtual keys: follows their state in the store, and reports their usage to it.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::following::is_due;
use crate::config::Settings;
use crate::keys::Access;
use callwright_common::tasks::supervised;
use callwright_store::{Store, StoreError};
use callwright_telemetry::Metrics;

/// Time between two exchanges of usage with the store: replicas may exceed a limit together for as long.
const SYNC_PAUSE: Duration = Duration::from_secs(1);

/// Loads the keys from the store. While the store cannot be read, all clients are refused.
pub(super) async fn load(settings: &Settings, store: &Arc<Store>, metrics: &Metrics) -> Arc<Access> {
    let access = Arc::new(Access::new(&settings.keys, &settings.prices, Arc::clone(store)));
    metrics.known_groups(settings.keys.groups.keys().map(String::as_str));
    if access.is_required() {
        let loaded = async {
            access.refresh().await?;
            access.exchange().await
        };
        match loaded.await {
            Ok(()) => know_groups(&access, metrics),
            Err(error) => {
                tracing::warn!(%error, "cannot read the keys from the store; clients are refused until it can be read");
            }
        }
    }
    access
}

/// Follows the keys in the store and reports usage, until `ending` is cancelled.
pub(super) fn start(access: &Arc<Access>, store: Arc<Store>, metrics: Arc<Metrics>, ending: CancellationToken) {
    if !access.is_required() {
        return;
    }
    let following = (Arc::clone(access), store, metrics, ending.clone());
    tokio::spawn(supervised("keys", following, async |(access, store, metrics, ending): &mut _| {
        follow(access, store, metrics, ending).await;
    }));
    let exchanging = (Arc::clone(access), ending);
    tokio::spawn(supervised("key_usage", exchanging, async |(access, ending): &mut _| exchange(access, ending).await));
}

async fn follow(access: &Access, store: &Store, metrics: &Metrics, ending: &CancellationToken) {
    let mut changes = store.changes();
    loop {
        // Keys may have changed since loading, so the first refresh comes before the first wait.
        let result = access.refresh().await;
        if result == Ok(true) {
            know_groups(access, metrics);
        }
        if !is_due(&result, &mut changes, ending).await {
            return;
        }
    }
}

async fn exchange(access: &Access, ending: &CancellationToken) {
    let mut works = true;
    loop {
        tokio::select! {
            () = ending.cancelled() => return,
            () = tokio::time::sleep(SYNC_PAUSE) => {}
        }
        match access.exchange().await {
            Ok(()) => works = true,
            Err(StoreError::Off) => return,
            // The failure is logged once. Usage is reported when the store accepts writes again.
            Err(error) if std::mem::replace(&mut works, false) => {
                tracing::warn!(%error, "cannot report key usage to the store; limits apply to the usage known to this process");
            }
            Err(_) => {}
        }
    }
}

fn know_groups(access: &Access, metrics: &Metrics) {
    let keys = access.keys();
    metrics.known_groups(keys.iter().map(|known| known.key().group.as_str()));
}
