//! What was learned from use: kept as the store has it, and learned further.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio_util::sync::CancellationToken;

use crate::config::Settings;
use crate::embedding::Embedder;
use crate::learning::{Keeper, Known, Learner, Ran};
use crate::pipeline::Memory;
use crate::store::Store;
use crate::telemetry::Metrics;

/// Pause after the store could not be read or written.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);

/// What was learned, and who keeps it current.
pub(super) struct Memories {
    /// What turns see.
    pub(super) memory: Arc<ArcSwap<Memory>>,
    keeper: Arc<Keeper>,
    learner: Option<Learner>,
    store: Arc<Store>,
    embedder: Option<Arc<dyn Embedder>>,
    metrics: Arc<Metrics>,
}

impl Memories {
    /// Loads what the store has. Where it cannot be read now, turns go on without until it can.
    pub(super) async fn load(
        settings: &Settings,
        store: &Arc<Store>,
        embedder: Option<Arc<dyn Embedder>>,
        metrics: &Arc<Metrics>,
    ) -> Self {
        let keeper = Keeper::new(store.clone(), embedder.clone(), settings.experience, settings.procedures.clone());
        let keeper = Arc::new(keeper);
        let learner = settings
            .learning
            .enabled
            .then(|| Learner::new(store.clone(), Arc::clone(&keeper), settings.learning.clone(), Arc::clone(metrics)));
        let known = match keeper.refresh().await {
            Ok(known) => known,
            Err(error) => {
                tracing::warn!(%error, "what was learned cannot be read yet; turns go on without");
                keeper.known().await
            }
        };
        let memory = Arc::new(ArcSwap::from_pointee(seen(&known, embedder.as_ref())));
        let memories = Self { memory, keeper, learner, store: store.clone(), embedder, metrics: Arc::clone(metrics) };
        memories.count(&known);
        memories
    }

    /// Keeps it current and learns, until `ending` is cancelled.
    pub(super) fn start(mut self, ending: CancellationToken) {
        if let Some(learner) = self.learner.take() {
            tokio::spawn(learn(learner, Arc::clone(&self.store), ending.clone()));
        }
        tokio::spawn(self.keep(ending));
    }

    async fn keep(self, ending: CancellationToken) {
        let mut changes = self.store.changes();
        loop {
            // It may have changed between loading and here, so the first look comes before the first wait.
            let result = self.keeper.refresh().await;
            if let Ok(known) = &result {
                self.memory.store(Arc::new(seen(known, self.embedder.as_ref())));
                self.count(known);
            }
            let next = async {
                match result {
                    Ok(_) => changes.changed().await.is_ok(),
                    Err(_) => {
                        tokio::time::sleep(PAUSE_AFTER_FAILURE).await;
                        true
                    }
                }
            };
            tokio::select! {
                () = ending.cancelled() => return,
                goes_on = next => if !goes_on { return },
            }
        }
    }

    fn count(&self, known: &Known) {
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        self.metrics.lessons.set(count(known.notebook.len() - known.notebook.retired()));
        self.metrics.procedures.set(count(known.library.len() - known.library.retired()));
    }
}

fn seen(known: &Known, embedder: Option<&Arc<dyn Embedder>>) -> Memory {
    Memory { notebook: Arc::clone(&known.notebook), library: Arc::clone(&known.library), embedder: embedder.cloned() }
}

/// Learns whenever there is something new, until `ending` is cancelled.
async fn learn(learner: Learner, store: Arc<Store>, ending: CancellationToken) {
    let mut changes = store.changes();
    loop {
        let ran = learner.run().await;
        if let Err(error) = &ran {
            tracing::debug!(%error, "nothing can be learned now");
        }
        let next = async {
            tokio::time::sleep(learner.pause()).await;
            match ran {
                Ok(Ran::Learned) => true,
                Ok(Ran::Idle) => changes.changed().await.is_ok(),
                Ok(Ran::Elsewhere) | Err(_) => {
                    tokio::time::sleep(PAUSE_AFTER_FAILURE).await;
                    true
                }
            }
        };
        tokio::select! {
            () = ending.cancelled() => break,
            goes_on = next => if !goes_on { break },
        }
    }
    learner.leave().await;
}
