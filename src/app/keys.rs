//! Virtual keys, kept as the store has them, and what they use, told to it.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::following::is_due;
use crate::config::Settings;
use crate::keys::Access;
use callwright_store::{Store, StoreError};
use callwright_telemetry::Metrics;

/// Knows the keys of the store. Where it cannot be read now, nobody comes in until it can.
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
            Err(error) => tracing::warn!(%error, "keys cannot be read yet; clients are refused until they can"),
        }
    }
    access
}

/// Follows the store, and tells it what was used, until `ending` is cancelled.
pub(super) fn start(access: &Arc<Access>, store: Arc<Store>, metrics: Arc<Metrics>, ending: CancellationToken) {
    if !access.is_required() {
        return;
    }
    tokio::spawn(follow(Arc::clone(access), store, metrics, ending.clone()));
    tokio::spawn(exchange(Arc::clone(access), ending));
}

async fn follow(access: Arc<Access>, store: Arc<Store>, metrics: Arc<Metrics>, ending: CancellationToken) {
    let mut changes = store.changes();
    loop {
        // They may have changed between loading and here, so the first look comes before the first wait.
        let result = access.refresh().await;
        if result == Ok(true) {
            know_groups(&access, &metrics);
        }
        if !is_due(&result, &mut changes, &ending).await {
            return;
        }
    }
}

async fn exchange(access: Arc<Access>, ending: CancellationToken) {
    let mut works = true;
    loop {
        tokio::select! {
            () = ending.cancelled() => return,
            () = tokio::time::sleep(access.sync_pause()) => {}
        }
        match access.exchange().await {
            Ok(()) => works = true,
            Err(StoreError::Off) => return,
            // It is told when the store takes it again; once is enough for the log.
            Err(error) if std::mem::replace(&mut works, false) => {
                tracing::warn!(%error, "what keys use cannot be told to the store; limits hold by what this process knows");
            }
            Err(_) => {}
        }
    }
}

fn know_groups(access: &Access, metrics: &Metrics) {
    let keys = access.keys();
    metrics.known_groups(keys.iter().map(|known| known.key().group.as_str()));
}
