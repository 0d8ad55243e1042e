//! Shared representations: follows their state in the store.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::documents::SharedDocuments;
use super::following::is_due;
use callwright_common::tasks::supervised;
use callwright_store::{MAX_PAGE, Memory, Revision, Store, StoreError};
use callwright_types::representation::SharedRepresentation;

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
            let changes = Memory::<SharedRepresentation>::changed(&*self.store, self.upto, MAX_PAGE).await?;
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

    /// Keeps them current until `ending` is cancelled. After each change, they are applied to the documents on a blocking
    /// thread.
    pub(super) fn start(self, ending: CancellationToken, documents: SharedDocuments) {
        let following = (self, ending, documents);
        tokio::spawn(supervised("representations", following, async |(representations, ending, documents): &mut _| {
            representations.follow(ending, documents).await;
        }));
    }

    async fn follow(&mut self, ending: &CancellationToken, documents: &SharedDocuments) {
        let mut changes = self.store.changes();
        loop {
            let result = self.refresh().await;
            if result == Ok(true) {
                let (all, documents) = (self.all(), documents.clone());
                // The panic hook has logged a panic of that thread; the next change is applied anyway.
                let _ = tokio::task::spawn_blocking(move || documents.take_over(all)).await;
            }
            if !is_due(&result, &mut changes, ending).await {
                return;
            }
        }
    }
}
