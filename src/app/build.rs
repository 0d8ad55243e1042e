//! Builds every room from the settings, in the order of their levels.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::config::Settings;
use crate::http::{ServeError, TlsError};
use crate::keys::Access;
use crate::pipeline::{Parts, Pipeline, SEARCH_TOOL};
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

/// A proxy that cannot start. Each message names the file or key, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A listener cannot be had.
    #[error(transparent)]
    Listen(#[from] ServeError),
    /// A listener does not tell its address.
    #[error("a listener does not tell its address: {0}")]
    Address(io::Error),
    /// A certificate or its key is of no use.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Spans cannot be sent with the settings.
    #[error(transparent)]
    Otlp(#[from] OtlpError),
    /// An upstream's settings are of no use.
    #[error(transparent)]
    Upstream(#[from] upstream::BuildError),
    /// A toolset's document cannot be read.
    #[error(transparent)]
    Catalog(#[from] LoadError),
    /// The model of meaning cannot be had.
    #[error(transparent)]
    Embedding(#[from] embedding::BuildError),
    /// A representation file is wrong.
    #[error(transparent)]
    Representation(#[from] RepresentationError),
    /// The file of confirmed and forbidden sources of arguments, or that of notations, is wrong.
    #[error(transparent)]
    File(#[from] FileError),
    /// A key that tokens are to be sealed with is none.
    #[error(transparent)]
    SealKey(#[from] SealKeyError),
    /// The executor's settings are of no use.
    #[error(transparent)]
    Executor(#[from] executor::BuildError),
    /// A policy file is wrong.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A template is wrong.
    #[error(transparent)]
    Template(#[from] TemplateError),
}

/// What the listeners are given.
pub(super) struct Built {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) store: Arc<Store>,
    pub(super) access: Arc<Access>,
    pub(super) metrics: Arc<Metrics>,
    /// What was learned from use.
    pub(super) memories: Memories,
    /// What replicas share of tools.
    pub(super) representations: SharedRepresentations,
    /// Takes it over when it changes.
    pub(super) take_over: TakeOver,
    /// Files are watched while these live.
    pub(super) watchers: Vec<Watcher>,
}

/// Builds every room.
pub(super) async fn build(
    settings: Settings,
    base_dir: &Path,
    downloads: &dyn DownloadWatcher,
) -> Result<Built, StartError> {
    // One provider for every TLS connection; it may have been installed by an earlier start in this process.
    let _ = rustls::crypto::ring::default_provider().install_default();

    let metrics = Arc::new(Metrics::new());
    // The proxy's own first: only so many names get series of their own.
    metrics.known_tools([SEARCH_TOOL]);
    metrics.known_upstreams(settings.upstreams.keys().map(String::as_str));
    let store = Arc::new(Store::open(&settings.store, base_dir).await);
    let dropped = metrics.clone();
    let on_dropped = move |count| dropped.traces_dropped.inc_by(count);
    let traces = TraceQueue::start(store.clone(), &settings.store, base_dir, on_dropped);

    let access = keys::load(&settings, &store, &metrics).await;
    let embedder = embedder::load(&settings.embedding, base_dir, store.clone(), downloads).await?;
    let representations = SharedRepresentations::load(store.clone()).await;
    let documents::Loaded { tooling, watchers: document_watchers, take_over } =
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

    let pipeline = Pipeline::new(Parts {
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
    Ok(Built { pipeline: Arc::new(pipeline), store, access, metrics, memories, representations, take_over, watchers })
}
