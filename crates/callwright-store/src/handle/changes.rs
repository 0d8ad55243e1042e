//! Detection of changes made by other processes.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::{Store, StoreInner, StoreState};
use crate::sql::{Database, REPLICA_TIMEOUT};
use crate::{Revisions, StoreError};

/// Heartbeats of a replica per [`REPLICA_TIMEOUT`], so that one slow heartbeat does not count as an outage.
const HEARTBEATS: u32 = 3;

impl Store {
    /// Subscribes to the latest revision of each topic, and to every later one from any process. PostgreSQL sends
    /// notifications. The store also polls every `[store] poll_milliseconds`, for SQLite and while notifications are
    /// unavailable.
    pub fn changes(&self) -> watch::Receiver<Revisions> {
        self.inner.changes.subscribe()
    }

    /// Returns the current revision of each topic in the store.
    pub async fn latest(&self) -> Result<Revisions, StoreError> {
        self.database()?.latest().await
    }

    /// Wakes the check for changes after a change by this process.
    pub(crate) fn notify_change<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if result.is_ok() {
            self.inner.wake.notify_one();
        }
        result
    }
}

/// Polls for changes and sends heartbeats until the store is closed or dropped. Does not keep the store alive.
pub(super) async fn poll_changes(inner: &Weak<StoreInner>) {
    let mut next_heartbeat = Instant::now();
    let mut listens = false;
    loop {
        let Some(now) = inner.upgrade() else { return };
        let (wake, poll) = (Arc::clone(&now.wake), Duration::from_millis(now.settings.poll_milliseconds.max(1)));
        match &**now.state.load() {
            StoreState::Closed | StoreState::Off => return,
            StoreState::Down(_) => {}
            StoreState::Open(database) => {
                if !std::mem::replace(&mut listens, true) {
                    listen(database, &now);
                }
                poll_revisions(database, &now).await;
                if next_heartbeat <= Instant::now() {
                    let _ = database.live(&now.owner).await;
                    next_heartbeat += REPLICA_TIMEOUT / HEARTBEATS;
                }
            }
        }
        drop(now);
        // The pause holds no reference, so that the store can be dropped meanwhile.
        let _ = tokio::time::timeout(poll, wake.notified()).await;
    }
}

async fn poll_revisions(database: &Database, inner: &StoreInner) {
    // An unavailable store is polled again after the pause.
    let Ok(latest) = database.latest().await else { return };
    inner.changes.send_if_modified(|previous| std::mem::replace(previous, latest) != latest);
}

fn listen(database: &Database, inner: &StoreInner) {
    if let Database::Postgres(postgres) = database {
        let wake = Arc::clone(&inner.wake);
        tokio::spawn(postgres.clone().listen(move || wake.notify_one()));
    }
}
