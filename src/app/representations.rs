//! Shared representations: follows their state in the store.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::documents::TakeOver;
use super::following::is_due;
use callwright_common::tasks::supervised;
use callwright_store::{Memory, Revision, Store, StoreError};
use callwright_types::representation::SharedRepresentation;

/// Number of representations read from the store per page.
const PAGE: u32 = 500;

/// Tool representations that replicas share, as known to this process.
pub(super) struct SharedRepresentations {
    store: Arc<Store>,
    known: BTreeMap<String, SharedRepresentation>,
    upto: Revision,
    /// Whether there are changes that have not been applied yet.
    is_other: bool,
}

impl SharedRepresentations {
    /// Loads the representations from the store. While the store cannot be read, turns run without them.
    pub(super) async fn load(store: Arc<Store>) -> Self {
        let mut shared = Self { store, known: BTreeMap::new(), upto: 0, is_other: false };
        match shared.refresh().await {
            Ok(_) | Err(StoreError::Off) => {}
            Err(error) => {
                tracing::warn!(%error, "cannot read shared representations from the store; those of files apply until it can be read");
            }
        }
        shared
    }

    /// Returns all of them, ordered by id.
    pub(super) fn all(&self) -> Vec<SharedRepresentation> {
        self.known.values().cloned().collect()
    }

    /// Reads the changes since the last refresh; returns whether there are any.
    async fn refresh(&mut self) -> Result<bool, StoreError> {
        loop {
            let changes = Memory::<SharedRepresentation>::changed(&*self.store, self.upto, PAGE).await?;
            self.is_other |= !(changes.changed.is_empty() && changes.removed.is_empty());
            self.known.extend(changes.changed.into_iter().map(|shared| (shared.id.clone(), shared)));
            for id in &changes.removed {
                self.known.remove(id);
            }
            self.upto = changes.upto;
            if !changes.more {
                return Ok(std::mem::take(&mut self.is_other));
            }
        }
    }

    /// Keeps them current until `ending` is cancelled. After each change, `take_over` receives all of them, on a
    /// blocking thread.
    pub(super) fn start(self, ending: CancellationToken, take_over: TakeOver) {
        let following = (self, ending, take_over);
        tokio::spawn(supervised("representations", following, async |(representations, ending, take_over): &mut _| {
            representations.follow(ending, take_over).await;
        }));
    }

    async fn follow(&mut self, ending: &CancellationToken, take_over: &TakeOver) {
        let mut changes = self.store.changes();
        loop {
            let result = self.refresh().await;
            if result == Ok(true) {
                let (all, take_over) = (self.all(), take_over.clone());
                // The panic hook has logged a panic of that thread; the next change is applied anyway.
                let _ = tokio::task::spawn_blocking(move || take_over.take_over(all)).await;
            }
            if !is_due(&result, &mut changes, ending).await {
                return;
            }
        }
    }
}
