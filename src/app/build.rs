//! Builds every module from the settings, in the order of their levels.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::config::Settings;
use crate::http::{ServeError, TlsError};
use crate::keys::Access;
use crate::pipeline::{Pipeline, PipelineParts, SEARCH_TOOL};
use callwright_common::watch::{FileError, Watcher};
use callwright_executor as executor;
use callwright_executor::Executor;
use callwright_judge::feedback::TemplateError;
use callwright_judge::scanner::Validators;
use callwright_knowledge::representation::RepresentationError;
use callwright_openapi::LoadError;
use callwright_policy::PolicyError;
use callwright_search::embedding::{self, DownloadWatcher};
use callwright_store::{SealKeyError, SealedTokens, SharedTokens, Store, TraceQueue};
use callwright_telemetry::{Metrics, OtlpError, Spans};
use callwright_upstream as upstream;
use callwright_upstream::Upstreams;

use super::documents::TakeOver;
use super::memory::Memories;
use super::representations::SharedRepresentations;
use super::{documents, embedder, keys, notations, policies, templates};

/// Error that prevents the proxy from starting. Each message names the file or key, and the fix.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A listener cannot be opened.
    #[error(transparent)]
    Listen(#[from] ServeError),
    /// The local address of a listener cannot be read.
    #[error("cannot read the local address of a listener: {0}")]
    Address(io::Error),
    /// A certificate or its private key is invalid.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The OTLP exporter cannot be built from the settings.
    #[error(transparent)]
    Otlp(#[from] OtlpError),
    /// An upstream's settings are invalid.
    #[error(transparent)]
    Upstream(#[from] upstream::BuildError),
    /// A toolset's document cannot be read.
    #[error(transparent)]
    Catalog(#[from] LoadError),
    /// The embedding model cannot be loaded.
    #[error(transparent)]
    Embedding(#[from] embedding::BuildError),
    /// A representation file is invalid.
    #[error(transparent)]
    Representation(#[from] RepresentationError),
    /// The planner's edges file or the notations file is invalid.
    #[error(transparent)]
    File(#[from] FileError),
    /// The configured key for sealing tokens is invalid.
    #[error(transparent)]
    SealKey(#[from] SealKeyError),
    /// The executor's settings are invalid.
    #[error(transparent)]
    Executor(#[from] executor::BuildError),
    /// A policy file is invalid.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A template is invalid.
    #[error(transparent)]
    Template(#[from] TemplateError),
}

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
    /// Applies the shared representations after a change.
    pub(super) take_over: TakeOver,
    /// File watchers; dropping one stops it.
    pub(super) watchers: Vec<Watcher>,
}

/// Builds every module.
pub(super) async fn build(
    settings: Settings,
    base_dir: &Path,
    downloads: &dyn DownloadWatcher,
) -> Result<BuiltPipeline, StartError> {
    // One provider serves every TLS connection. An earlier start in this process may have installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();

    let metrics = Arc::new(Metrics::new());
    // The proxy's own tool is registered first: the number of names with their own series is limited.
    metrics.known_tools([SEARCH_TOOL]);
    metrics.known_upstreams(settings.upstreams.keys().map(String::as_str));
    let store = Arc::new(Store::open(&settings.store, base_dir).await);
    let dropped = metrics.clone();
    let on_dropped = move |count| dropped.traces_dropped.inc_by(count);
    let traces = TraceQueue::start(store.clone(), &settings.store, base_dir, on_dropped);

    let access = keys::load(&settings, &store, &metrics).await;
    let embedder = embedder::load(&settings.embedding, base_dir, store.clone(), downloads).await?;
    let representations = SharedRepresentations::load(store.clone()).await;
    let documents::LoadedDocuments { tooling, watchers: document_watchers, take_over } =
        documents::load(&settings, base_dir, embedder.clone(), representations.all(), &metrics).await?;
    let upstreams = Upstreams::build(&settings.upstreams, &settings.default_upstream)?;
    let memories = Memories::load(&settings, &store, embedder, &upstreams, &metrics).await;
    let tokens = SealedTokens::of(&store, &settings.store)?.map(|tokens| Arc::new(tokens) as Arc<dyn SharedTokens>);
    let executor = Executor::build(&settings.executor, store.clone(), tokens)?;
    let (templates, template_watcher) = templates::load(&settings.feedback)?;
    let (notations, notation_watcher) = notations::load(&settings.repair, base_dir)?;
    let (policies, policy_watcher) = policies::load(&settings.policies, &settings.aliases, base_dir, &metrics)?;

    let addresses = settings.upstreams.iter().map(|(name, upstream)| (name.as_str(), upstream.base_url.as_str()));
    let spans = Spans::start(&settings.telemetry, base_dir, addresses, metrics.clone())?;

    let pipeline = Pipeline::new(PipelineParts {
        settings: settings.pipeline,
        aliases: settings.aliases,
        upstreams,
        passing: settings.pass_through,
        tooling,
        policies,
        validators: Validators::new(&settings.scanner),
        judgement: settings.scanner.budget(),
        templates,
        notations,
        executor,
        kept: store.clone(),
        approvals: store.clone(),
        planner: settings.planner,
        plans: store.clone(),
        access: access.clone(),
        memory: memories.memory.clone(),
        traces,
        metrics: metrics.clone(),
        spans,
    });
    let watchers =
        document_watchers.into_iter().chain(policy_watcher).chain(template_watcher).chain(notation_watcher).collect();
    Ok(BuiltPipeline {
        pipeline: Arc::new(pipeline),
        store,
        access,
        metrics,
        memories,
        representations,
        take_over,
        watchers,
    })
}
