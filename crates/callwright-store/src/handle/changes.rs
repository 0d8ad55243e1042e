//! Noticing what other processes changed.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::{Inner, State, Store};
use crate::sql::Database;
use crate::{Revisions, StoreError};

/// A replica says this often in its time that it lives, so that one that is slow once is not taken for gone.
const SIGNS_OF_LIFE: u64 = 3;

impl Store {
    /// The latest revision of each topic, and each further one, whichever process made it. PostgreSQL tells of changes; they are also looked
    /// for every `[store] poll_milliseconds`, which is what holds while nobody tells, and for SQLite.
    pub fn changes(&self) -> watch::Receiver<Revisions> {
        self.inner.changes.subscribe()
    }

    /// The latest revision of each topic, as it is in the store now.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn latest(&self) -> Result<Revisions, StoreError> {
        self.database()?.latest().await
    }

    /// Something was changed by this process.
    pub(crate) fn changed_here<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if result.is_ok() {
            self.inner.wake.notify_one();
        }
        result
    }
}

/// Looks for changes until the store is closed or gone, and says that this replica lives. Looking never keeps it alive.
pub(super) async fn keep_up(inner: Weak<Inner>) {
    let mut next_sign = Instant::now();
    let mut listens = false;
    loop {
        let Some(now) = inner.upgrade() else { return };
        let (wake, poll) = (Arc::clone(&now.wake), Duration::from_millis(now.settings.poll_milliseconds.max(1)));
        match &**now.state.load() {
            State::Closed | State::Off => return,
            State::Down(_) => {}
            State::Open(database) => {
                if !std::mem::replace(&mut listens, true) {
                    listen(database, &now);
                }
                look(database, &now).await;
                if next_sign <= Instant::now() {
                    let _ = database.live(&now.owner, &now.settings).await;
                    next_sign += Duration::from_secs(now.settings.replica_seconds.max(1)) / SIGNS_OF_LIFE as u32;
                }
            }
        }
        drop(now);
        // Whoever waits here does not have the store: it may go meanwhile.
        let _ = tokio::time::timeout(poll, wake.notified()).await;
    }
}

async fn look(database: &Database, inner: &Inner) {
    // A store that does not answer is asked again after the pause.
    let Ok(latest) = database.latest().await else { return };
    inner.changes.send_if_modified(|known| std::mem::replace(known, latest) != latest);
}

fn listen(database: &Database, inner: &Inner) {
    if let Database::Postgres(postgres) = database {
        let wake = Arc::clone(&inner.wake);
        tokio::spawn(postgres.clone().listen(move || wake.notify_one()));
    }
}
