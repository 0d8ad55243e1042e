//! Builds every module from the settings, in the order of their levels.

use std::path::Path;
use std::sync::Arc;

use crate::config::Settings;
use crate::keys::Access;
use crate::pipeline::{MemoryLimit, Pipeline, PipelineParts, SEARCH_TOOL};
use crate::webhook::Webhook;
use callwright_common::watch::{Trigger, Watcher};
use callwright_executor::Executor;
use callwright_judge::scanner::Validators;
use callwright_policy::PolicyBook;
use callwright_search::embedding::{self, BuildError, Embedder};
use callwright_store::{SealedTokens, SharedTokens, Store, TraceQueue};
use callwright_telemetry::{Metrics, Spans};
use callwright_upstream::{RequestBudget, Upstreams};

use super::documents::SharedDocuments;
use super::memory::Memories;
use super::representations::SharedRepresentations;
use super::start_error::StartError;
use super::toolset_audit::{ToolsetFinding, audit_policies};
use super::{documents, keys, operator_files};

/// Components that the listeners and background tasks use.
pub(super) struct BuiltPipeline {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) store: Arc<Store>,
    pub(super) access: Arc<Access>,
    pub(super) metrics: Arc<Metrics>,
    /// Lessons and procedures learned from earlier turns.
    pub(super) memories: Memories,
    /// Tool representations that replicas share through the store.
    pub(super) representations: SharedRepresentations,
    /// Documents to which the shared representations are applied after a change.
    pub(super) documents: SharedDocuments,
    /// File watchers; dropping one stops it.
    pub(super) watchers: Vec<Watcher>,
}

/// Builds every module.
pub(super) async fn build(settings: Settings, base_dir: &Path) -> Result<BuiltPipeline, StartError> {
    // One provider serves every TLS connection. An earlier start in this process may have installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();

    let metrics = Arc::new(Metrics::new());
    // The proxy's own tool is registered first: the number of names with their own series is limited.
    metrics.known_tools([SEARCH_TOOL]);
    metrics.known_upstreams(settings.upstreams.keys().map(String::as_str));
    let store = Arc::new(Store::open(&settings.store, base_dir).await);
    let dropped = metrics.clone();
    let traces = TraceQueue::start(store.clone(), &settings.store, base_dir, move |count| {
        dropped.traces_dropped.inc_by(count);
    });

    let access = keys::load(&settings, &store, &metrics).await;
    let embedder = load_embedder(&settings.embedding, base_dir, store.clone()).await?;
    let representations = SharedRepresentations::load(store.clone()).await;
    let documents::LoadedDocuments { tooling, watchers: document_watchers, documents } =
        documents::load(&settings, base_dir, embedder.clone(), representations.all(), &metrics).await?;
    let upstreams = Upstreams::build(&settings.upstreams, &settings.default_upstream)?;
    let own_requests = Arc::new(RequestBudget::new(settings.own_requests.into()));
    let memories = Memories::load(&settings, &store, embedder, &upstreams, &own_requests, &metrics).await;
    let tokens = SealedTokens::new(&store, &settings.store)?.map(|tokens| Arc::new(tokens) as Arc<dyn SharedTokens>);
    let executor = Executor::build(&settings.executor, store.clone(), tokens)?;
    let trigger = Trigger::new(settings.reload.files);
    let (catalog, aliases) = (tooling.clone(), settings.aliases.clone());
    let has_directory = !settings.policies.directory.is_empty();
    let audit = move |book: &PolicyBook| {
        let findings = audit_policies(&catalog.load().catalog, &aliases, book, has_directory);
        findings.iter().for_each(ToolsetFinding::log);
    };
    let (policies, policy_watcher) =
        operator_files::load_policies(&settings.policies, &settings.aliases, base_dir, trigger, &metrics, audit)?;

    let addresses = settings.upstreams.iter().map(|(name, upstream)| (name.as_str(), upstream.base_url.as_str()));
    let spans = Spans::start(&settings.telemetry, base_dir, addresses, metrics.clone())?;

    let webhook = Webhook::start(&settings.approvals, metrics.clone()).map_err(StartError::Webhook)?;

    let pipeline = Pipeline::new(PipelineParts {
        settings: settings.pipeline,
        aliases: Arc::new(settings.aliases),
        upstreams,
        passing: settings.pass_through,
        tooling,
        policies,
        validators: Validators::new(&settings.scanner),
        judgement: settings.scanner.budget(),
        executor,
        store: store.clone(),
        webhook,
        planner: settings.planner,
        own_requests,
        access: access.clone(),
        memory: memories.memory.clone(),
        answer_memory: MemoryLimit::new(settings.server.answer_memory_bytes, &metrics.answer_bytes),
        traces,
        metrics: metrics.clone(),
        spans,
        log_turns: settings.telemetry.log_turns,
    });
    let watchers = document_watchers.into_iter().chain(policy_watcher).collect();
    Ok(BuiltPipeline {
        pipeline: Arc::new(pipeline),
        store,
        access,
        metrics,
        memories,
        representations,
        documents,
        watchers,
    })
}

/// Loads the configured embedding model. Falls back to the built-in model, with a warning, where the machine has no
/// ONNX Runtime: the configuration itself is valid.
async fn load_embedder(
    settings: &embedding::Settings,
    base_dir: &Path,
    store: Arc<Store>,
) -> Result<Option<Arc<dyn Embedder>>, StartError> {
    match embedding::build(settings, base_dir, store).await {
        Ok(embedder) => {
            if let Some(embedder) = &embedder {
                tracing::info!(model = embedder.id(), dimensions = embedder.dimensions(), "embedding model loaded");
            }
            Ok(embedder)
        }
        Err(error @ BuildError::Runtime(_)) => {
            tracing::warn!(%error, "falling back to the built-in embedding model");
            Ok(Some(embedding::built_in(settings)?))
        }
        Err(error) => Err(error.into()),
    }
}
