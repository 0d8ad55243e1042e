//! Experience memory: follows the lessons and procedures in the store, and runs the learning jobs.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio_util::sync::CancellationToken;

use super::following::{PAUSE_AFTER_FAILURE, is_due};
use crate::config::Settings;
use crate::pipeline::RecallMemory;
use callwright_common::tasks::supervised;
use callwright_memory::experience::NoteTaker;
use callwright_memory::learning::{CachedMemory, Job, JobOutcome, Learner, LessonRewriter, MemoryCache, PAUSE, Worker};
use callwright_search::embedding::Embedder;
use callwright_store::Store;
use callwright_telemetry::Metrics;
use callwright_telemetry::labels::Label;
use callwright_upstream::{Patience, RequestBudget, TextModel, Upstreams};

/// Longest pause after the store could not be read or written, or a model did not answer. The pause doubles with each
/// failure.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Retries of the model that rewords lessons: no client waits for it.
const PATIENCE: Patience = Patience { tries: 3, max_wait: Duration::from_secs(30) };

/// Learned lessons and procedures, and the tasks that keep them current.
pub(super) struct Memories {
    /// The snapshot that turns use.
    pub(super) memory: Arc<ArcSwap<RecallMemory>>,
    memory_cache: Arc<MemoryCache>,
    learner: Option<Worker<Learner>>,
    lesson_rewriter: Option<Worker<LessonRewriter>>,
    store: Arc<Store>,
    embedder: Option<Arc<dyn Embedder>>,
    metrics: Arc<Metrics>,
}

impl Memories {
    /// Loads lessons and procedures from the store. While the store cannot be read, turns run without them.
    pub(super) async fn load(
        settings: &Settings,
        store: &Arc<Store>,
        embedder: Option<Arc<dyn Embedder>>,
        upstreams: &Upstreams,
        own_requests: &Arc<RequestBudget>,
        metrics: &Arc<Metrics>,
    ) -> Self {
        let (experience, procedures) = (settings.experience, settings.procedures.clone());
        let memory_cache = Arc::new(MemoryCache::new(store.clone(), embedder.clone(), experience, procedures));
        let (learner, lesson_rewriter) = jobs(settings, store, &memory_cache, upstreams, own_requests, metrics);
        let known = match memory_cache.refresh().await {
            Ok(known) => known,
            Err(error) => {
                tracing::warn!(%error, "cannot read lessons and procedures from the store; turns run without them until it can be read");
                memory_cache.current().await
            }
        };
        let memory = Arc::new(ArcSwap::from_pointee(seen(&known, embedder.as_ref())));
        let (store, metrics) = (Arc::clone(store), Arc::clone(metrics));
        let memories = Self { memory, memory_cache, learner, lesson_rewriter, store, embedder, metrics };
        memories.count(&known);
        memories
    }

    /// Keeps the memory current and runs the learning jobs, until `ending` is cancelled.
    pub(super) fn start(mut self, ending: CancellationToken) {
        spawn_work("learner", self.learner.take(), &self.store, &ending);
        spawn_work("lesson_rewriter", self.lesson_rewriter.take(), &self.store, &ending);
        tokio::spawn(supervised("memory", self, async move |memories: &mut Self| memories.keep(&ending).await));
    }

    async fn keep(&self, ending: &CancellationToken) {
        let mut changes = self.store.changes();
        loop {
            // The store may have changed since loading, so the first refresh comes before the first wait.
            let result = self.memory_cache.refresh().await;
            if let Ok(known) = &result {
                self.memory.store(Arc::new(seen(known, self.embedder.as_ref())));
                self.count(known);
            }
            if !is_due(&result, &mut changes, ending).await {
                return;
            }
        }
    }

    fn count(&self, known: &CachedMemory) {
        let lessons = known.lesson_store.len() - known.lesson_store.retired();
        let procedures = known.library.len() - known.library.retired();
        self.metrics.lessons.set(i64::try_from(lessons).unwrap_or(i64::MAX));
        self.metrics.procedures.set(i64::try_from(procedures).unwrap_or(i64::MAX));
    }
}

fn seen(known: &CachedMemory, embedder: Option<&Arc<dyn Embedder>>) -> RecallMemory {
    RecallMemory {
        lesson_store: Arc::clone(&known.lesson_store),
        library: Arc::clone(&known.library),
        embedder: embedder.cloned(),
    }
}

/// Builds the learning jobs that this process runs.
fn jobs(
    settings: &Settings,
    store: &Arc<Store>,
    memory_cache: &Arc<MemoryCache>,
    upstreams: &Upstreams,
    own_requests: &Arc<RequestBudget>,
    metrics: &Arc<Metrics>,
) -> (Option<Worker<Learner>>, Option<Worker<LessonRewriter>>) {
    let learning = &settings.learning;
    if !learning.enabled {
        return (None, None);
    }
    let learner = Learner::new(store.clone(), memory_cache.clone(), learning.clone(), metrics.clone());
    let lesson_rewriter = settings.aliases.get(&learning.alias).map(|alias| {
        let (upstream, name) = alias.main_target(&learning.alias);
        let upstream = upstreams.get(upstream).unwrap_or_else(|| upstreams.default_upstream());
        let model = TextModel::new(Arc::clone(upstream), name, PATIENCE, Arc::clone(own_requests));
        let note_taker = NoteTaker::new(Arc::new(model), settings.experience);
        let rewriter = LessonRewriter::new(store.clone(), note_taker, learning.clone(), metrics.clone());
        Worker::new(rewriter, store.clone(), metrics.clone())
    });
    (Some(Worker::new(learner, store.clone(), metrics.clone())), lesson_rewriter)
}

fn spawn_work<J: Job>(name: &'static str, worker: Option<Worker<J>>, store: &Arc<Store>, ending: &CancellationToken) {
    let Some(worker) = worker else { return };
    let work_state = (worker, Arc::clone(store), ending.clone());
    tokio::spawn(supervised(name, work_state, async |(worker, store, ending): &mut _| {
        work(worker, store, ending).await;
    }));
}

/// Runs a job whenever there is new work, until `ending` is cancelled.
async fn work<J: Job>(worker: &Worker<J>, store: &Store, ending: &CancellationToken) {
    let (mut changes, mut after_failure) = (store.changes(), PAUSE_AFTER_FAILURE);
    loop {
        let next = async {
            let ran = worker.run().await;
            tokio::time::sleep(PAUSE).await;
            match ran {
                Ok(JobOutcome::Learned) => after_failure = PAUSE_AFTER_FAILURE,
                Ok(JobOutcome::Idle) => return changes.changed().await.is_ok(),
                Ok(JobOutcome::Elsewhere) => tokio::time::sleep(PAUSE_AFTER_FAILURE).await,
                Err(error) => {
                    tracing::debug!(%error, job = J::KIND.label(), "learning job failed; it will be retried");
                    tokio::time::sleep(after_failure).await;
                    after_failure = (after_failure * 2).min(LONGEST_PAUSE);
                }
            }
            true
        };
        tokio::select! {
            () = ending.cancelled() => break,
            goes_on = next => if !goes_on { break },
        }
    }
    worker.leave().await;
}
