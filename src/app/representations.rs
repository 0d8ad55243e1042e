//! The representations that the store has, kept current.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::documents::TakeOver;
use super::following::is_due;
use callwright_store::{Memory, Revision, Store, StoreError};
use callwright_types::representation::SharedRepresentation;

/// Representations that are read from the store at a time.
const PAGE: u32 = 500;

/// What replicas share of tools, as this process knows it.
pub(super) struct SharedRepresentations {
    store: Arc<Store>,
    known: BTreeMap<String, SharedRepresentation>,
    upto: Revision,
    /// Has anything changed that was not taken over yet?
    is_other: bool,
}

impl SharedRepresentations {
    /// What the store has. Where it cannot be read now, turns go on without until it can.
    pub(super) async fn load(store: Arc<Store>) -> Self {
        let mut shared = Self { store, known: BTreeMap::new(), upto: 0, is_other: false };
        match shared.refresh().await {
            Ok(_) | Err(StoreError::Off) => {}
            Err(error) => tracing::warn!(%error, "shared representations cannot be read yet; those of files hold"),
        }
        shared
    }

    /// All of them, in the order of their ids.
    pub(super) fn all(&self) -> Vec<SharedRepresentation> {
        self.known.values().cloned().collect()
    }

    /// Takes over what changed since the last look; says whether anything did.
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

    /// Keeps them current until `ending` is cancelled; `take_over` is given all of them when any has changed, on a thread
    /// that may wait.
    pub(super) fn start(mut self, ending: CancellationToken, take_over: TakeOver) {
        tokio::spawn(async move {
            let mut changes = self.store.changes();
            loop {
                let result = self.refresh().await;
                if result == Ok(true) {
                    let (all, take_over) = (self.all(), take_over.clone());
                    // Whoever panics there has told so, and the next change is taken over all the same.
                    let _ = tokio::task::spawn_blocking(move || take_over.take_over(all)).await;
                }
                if !is_due(&result, &mut changes, &ending).await {
                    return;
                }
            }
        });
    }
}
