//! The catalog with its documentation, and their reload when documents change.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::runtime::Handle;

use crate::config::Settings;
use crate::pipeline::{self, Deferred, ProducerIndex, Tooling, ToolsetIndex};
use callwright_common::watch::{self, Trigger, Watched, Watcher};
use callwright_executor::{self as executor, DocumentFetcher};
use callwright_explain::{self as explain, DeferredDocs, DocumentFiles, Explainer, OperationDocs};
use callwright_memory::representation::{self, Representations};
use callwright_openapi::{
    self as catalog, Catalog, Changes, DOCUMENT_ENDINGS, Fetch, LoadError, Offline, Toolset, ToolsetSettings,
};
use callwright_plan as planner;
use callwright_plan::producers::Edges;
use callwright_search::embedding::Embedder;
use callwright_telemetry::Metrics;
use callwright_telemetry::labels::ResultLabel;
use callwright_types::representation::SharedRepresentation;

use super::start_error::StartError;
use super::toolset_audit::audit_toolsets;
use super::{further_docs, operator_files};

/// Loaded documents, and the watchers that keep them current.
pub(super) struct LoadedDocuments {
    /// The snapshot that turns use.
    pub(super) tooling: Arc<ArcSwap<Tooling>>,
    /// File watchers; dropping one stops it.
    pub(super) watchers: Vec<Watcher>,
    /// The documents, to which shared representations are applied.
    pub(super) documents: SharedDocuments,
}

/// Loads the documents of all toolsets, and watches them where the settings enable it. Running turns keep the snapshot
/// with which they began.
pub(super) async fn load(
    settings: &Settings,
    base_dir: &Path,
    embedder: Option<Arc<dyn Embedder>>,
    shared: Vec<SharedRepresentation>,
    metrics: &Arc<Metrics>,
) -> Result<LoadedDocuments, StartError> {
    let representations = Representations::load(&settings.representations, base_dir)?;
    let representations = Arc::new(ArcSwap::from_pointee(representations));
    let edges = operator_files::load_edges(&settings.planner, base_dir)?;
    let fetch = fetcher(settings)?;
    let (catalog, errors) = Catalog::load(&settings.toolsets, base_dir, fetch.as_ref())?;
    for error in &errors {
        tracing::error!(%error, "document in a folder skipped");
    }
    let source = DocumentationSource { toolsets: settings.toolsets.clone(), base_dir: base_dir.to_owned(), embedder };
    let documents = WatchedDocuments {
        used_toolsets: settings.aliases.values().flat_map(|alias| alias.toolsets.clone()).collect(),
        fetch,
        representations: representations.clone(),
        shared,
        description_tokens: settings.representations.description_tokens,
        edges: edges.clone(),
        runtime: Handle::current(),
        pipeline: settings.pipeline.clone(),
        executor: settings.executor.clone(),
        metrics: metrics.clone(),
        seen: stamps(catalog.files()),
        seen_docs: source.stamps(),
        source: Arc::new(source),
    };
    report_loaded(&catalog, &settings.executor, metrics);
    let current = Arc::new(ArcSwap::from_pointee(documents.tooling(catalog, None).await));
    let documents = SharedDocuments { documents: Arc::new(Mutex::new(documents)), current: current.clone() };
    let trigger = Trigger::new(settings.reload.files);
    let watchers = [
        documents.watch_files(trigger),
        documents.watch_remote(Duration::from_secs(settings.reload.remote_seconds)),
        documents.watch_representations(&settings.representations, base_dir, trigger, representations),
        documents.watch_edges(&settings.planner, base_dir, trigger, edges),
    ];
    let watchers = watchers.into_iter().flatten().collect();
    Ok(LoadedDocuments { tooling: current, watchers, documents })
}

/// Loads the documents of all toolsets without serving them. Returns the catalog and the errors of skipped documents in
/// folders.
///
/// # Errors
/// The errors that would prevent the proxy from starting.
pub fn load_catalog(settings: &Settings, base_dir: &Path) -> Result<(Catalog, Vec<LoadError>), StartError> {
    Ok(Catalog::load(&settings.toolsets, base_dir, fetcher(settings)?.as_ref())?)
}

/// Returns the fetcher for remote documents where there is no configuration. It accepts public addresses only.
///
/// # Errors
/// If the HTTP client cannot be built.
pub fn public_fetcher() -> Result<Box<dyn Fetch>, StartError> {
    Ok(Box::new(DocumentFetcher::build(&executor::Settings::default())?))
}

/// Returns the fetcher for remote documents by the executor's settings, or [`Offline`] where no toolset needs one.
fn fetcher(settings: &Settings) -> Result<Box<dyn Fetch>, executor::BuildError> {
    Ok(if has_remote_documents(&settings.toolsets) {
        Box::new(DocumentFetcher::build(&settings.executor)?)
    } else {
        Box::new(Offline)
    })
}

fn has_remote_documents(toolsets: &BTreeMap<String, ToolsetSettings>) -> bool {
    toolsets.values().any(|toolset| toolset.allow_remote_refs || toolset.document.contains("://"))
}

/// State that a reload needs.
struct WatchedDocuments {
    source: Arc<DocumentationSource>,
    /// Entries of toolsets that an alias offers.
    used_toolsets: BTreeSet<String>,
    fetch: Box<dyn Fetch>,
    /// Tool representations from files; replaced when the files change.
    representations: Arc<ArcSwap<Representations>>,
    /// Representations that replicas share. They take precedence over the files.
    shared: Vec<SharedRepresentation>,
    /// Token limit of the descriptions that models see.
    description_tokens: usize,
    /// Confirmed and forbidden planner edges from the operator's file.
    edges: Arc<Edges>,
    /// Runtime on which reloads run the embedder, because reloads have threads of their own.
    runtime: Handle,
    pipeline: pipeline::Settings,
    executor: executor::Settings,
    metrics: Arc<Metrics>,
    /// Stamps of the files at the last read, whether it succeeded or failed.
    seen: BTreeMap<PathBuf, Option<Stamp>>,
    /// Stamps of the further documentation files.
    seen_docs: BTreeMap<PathBuf, Option<Stamp>>,
}

/// File stamp that detects replacement and modification: size, change time in seconds and nanoseconds, inode number.
type Stamp = (u64, i64, i64, u64);

/// Serialises reloads, whatever triggers them.
#[derive(Clone)]
pub(super) struct SharedDocuments {
    documents: Arc<Mutex<WatchedDocuments>>,
    current: Arc<ArcSwap<Tooling>>,
}

impl SharedDocuments {
    fn lock(&self) -> MutexGuard<'_, WatchedDocuments> {
        self.documents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies all shared representations. This may take as long as a reload.
    pub(super) fn take_over(&self, shared: Vec<SharedRepresentation>) {
        let mut documents = self.lock();
        documents.shared = shared;
        documents.reload_representations(&self.current);
        tracing::info!("shared representations applied");
    }

    fn watch_files(&self, trigger: Trigger) -> Option<Watcher> {
        let watched = self.lock().watched(&self.current.load().catalog);
        if watched == Watched::default() {
            return None;
        }
        let shared = self.clone();
        let watcher = watch::watch_files(watched, trigger, "document-reload", move || {
            let mut documents = shared.lock();
            documents.reload_files(&shared.current);
            documents.watched(&shared.current.load().catalog)
        });
        // A proxy whose documents do not reload is better than no proxy.
        watcher.inspect_err(|error| tracing::error!(%error, "documents will not reload")).ok()
    }

    fn watch_representations(
        &self,
        settings: &representation::Settings,
        base_dir: &Path,
        trigger: Trigger,
        representations: Arc<ArcSwap<Representations>>,
    ) -> Option<Watcher> {
        let (shared, metrics) = (self.clone(), self.lock().metrics.clone());
        let watcher = representation::watch(settings, base_dir, trigger, representations, move |result| match result {
            Ok(()) => {
                shared.lock().reload_representations(&shared.current);
                metrics.representation_reloads.inc(ResultLabel::Success);
                tracing::info!("representations reloaded");
            }
            Err(error) => {
                metrics.representation_reloads.inc(ResultLabel::Failure);
                tracing::error!(%error, "representations not reloaded; the previous ones stay in use");
            }
        });
        watcher.inspect_err(|error| tracing::error!(%error, "representations will not reload")).ok()
    }

    fn watch_edges(
        &self,
        settings: &planner::Settings,
        base_dir: &Path,
        trigger: Trigger,
        before: Arc<Edges>,
    ) -> Option<Watcher> {
        let (shared, metrics) = (self.clone(), self.lock().metrics.clone());
        let watcher = operator_files::watch_edges(settings, base_dir, trigger, before, move |result| match result {
            Ok(edges) => {
                shared.lock().reload_edges(&shared.current, edges);
                metrics.edges_reloads.inc(ResultLabel::Success);
                tracing::info!("planner edges reloaded");
            }
            Err(error) => {
                metrics.edges_reloads.inc(ResultLabel::Failure);
                tracing::error!(error, "planner edges not reloaded; the previous ones stay in use");
            }
        });
        watcher.inspect_err(|error| tracing::error!(%error, "planner edges will not reload")).ok()
    }

    fn watch_remote(&self, period: Duration) -> Option<Watcher> {
        if period.is_zero() || !has_remote_documents(&self.lock().source.toolsets) {
            return None;
        }
        let shared = self.clone();
        let watcher = watch::every(period, "remote-reload", move || shared.lock().reload_remote(&shared.current));
        watcher.inspect_err(|error| tracing::error!(%error, "remote documents will not reload")).ok()
    }
}

impl WatchedDocuments {
    /// Reloads the toolsets whose files have changed. A toolset that cannot be read stays unchanged.
    fn reload_files(&mut self, current: &ArcSwap<Tooling>) {
        let now = stamps(current.load().catalog.files());
        let changed = now.iter().filter(|(file, stamp)| self.seen.get(*file) != Some(*stamp));
        let files: BTreeSet<PathBuf> = changed.map(|(file, _)| file.clone()).collect();
        self.seen = now;
        let docs = self.source.stamps();
        let new_docs = docs != self.seen_docs;
        self.seen_docs = docs;
        let before = current.load_full();
        self.reload(current, &Changes::Files(files), Vec::new());
        // A reload of the catalog also reloads all documentation.
        if new_docs && Arc::ptr_eq(&before, &current.load()) {
            self.reload_docs(current);
        }
    }

    /// Reloads the further documentation; the catalog and the indexes stay.
    fn reload_docs(&self, current: &ArcSwap<Tooling>) {
        let before = current.load_full();
        let explainer = self.runtime.block_on(self.source.explainer(&before.catalog));
        current.store(Arc::new(before.with_explainer(explainer, &self.pipeline)));
        self.metrics.catalog_reloads.inc(ResultLabel::Success);
    }

    /// Finds the remote files that have changed, and reloads their toolsets.
    fn reload_remote(&mut self, current: &ArcSwap<Tooling>) {
        let (remote, errors) = current.load().catalog.remote_changes(&self.source.toolsets, self.fetch.as_ref());
        self.reload(current, &Changes::Remote(remote), errors);
    }

    fn reload(&mut self, current: &ArcSwap<Tooling>, changes: &Changes, mut errors: Vec<LoadError>) {
        let before = current.load_full();
        let DocumentationSource { toolsets, base_dir, .. } = &*self.source;
        let reloaded = before.catalog.reload(toolsets, base_dir, self.fetch.as_ref(), changes);
        if let Some((catalog, mut failed)) = reloaded {
            errors.append(&mut failed);
            for file in catalog.files() {
                self.seen.entry(file.to_owned()).or_insert_with(|| stamp(file));
            }
            report_loaded(&catalog, &self.executor, &self.metrics);
            current.store(Arc::new(self.runtime.block_on(self.tooling(catalog, Some(&before)))));
        } else if errors.is_empty() {
            return;
        }
        let result = if errors.is_empty() { ResultLabel::Success } else { ResultLabel::Failure };
        self.metrics.catalog_reloads.inc(result);
        for error in &errors {
            tracing::error!(%error, "document not reloaded; the previous version stays in use");
        }
    }

    /// Builds everything that turns use of a catalog. Parts that did not change since `before` are shared.
    async fn tooling(&self, catalog: Catalog, before: Option<&Tooling>) -> Tooling {
        let catalog = Arc::new(catalog);
        let (source, of_all) = (Arc::clone(&self.source), Arc::clone(&catalog));
        let explainer = async move { source.explainer(&of_all).await };
        let explainer = match before {
            Some(_) => Deferred::ready(explainer.await),
            // At the start, the proxy serves while documentation is read.
            None => {
                Deferred::spawn(explainer, || Explainer::build(Vec::new(), Vec::new(), &explain::Settings::default()))
            }
        };
        let shelf = self.shelf(&catalog, before);
        let known = before.map(|before| &*before.producers);
        let producers = Arc::new(ProducerIndex::fill(&catalog, self.edges.clone(), known));
        warn_of_unknown_tools(&producers);
        let (prepared, of_all, used) = (Arc::clone(&producers), Arc::clone(&catalog), self.used_toolsets.clone());
        self.runtime.spawn_blocking(move || prepared.prepare(&of_all, &used));
        Tooling::new(catalog, explainer, shelf, producers, &self.pipeline)
    }

    fn shelf(&self, catalog: &Catalog, before: Option<&Tooling>) -> ToolsetIndex {
        let (representations, problems) = self.representations.load().with_shared(&self.shared);
        for problem in problems {
            tracing::warn!(problem, "shared representation skipped");
        }
        let representations = Arc::new(representations);
        warn_of_unknown_representations(catalog, &representations);
        let embedder = self.source.embedder.clone();
        let before = before.map(|before| &*before.toolset_index);
        ToolsetIndex::build(catalog, representations, self.description_tokens, embedder, before, &self.metrics)
    }

    /// Replaces the representations; catalog and documentation stay.
    fn reload_representations(&self, current: &ArcSwap<Tooling>) {
        let before = current.load_full();
        let _runtime = self.runtime.enter();
        let shelf = self.shelf(&before.catalog, Some(&before));
        let (catalog, explainer) = (before.catalog.clone(), before.explainer.clone());
        let tooling = Tooling::new(catalog, explainer, shelf, before.producers.clone(), &self.pipeline);
        current.store(Arc::new(tooling));
    }

    /// Replaces the planner edges; the catalog stays.
    fn reload_edges(&mut self, current: &ArcSwap<Tooling>, edges: Arc<Edges>) {
        self.edges = edges;
        let before = current.load_full();
        let producers = before.producers.with_edges(self.edges.clone());
        warn_of_unknown_tools(&producers);
        current.store(Arc::new(before.with_producers(producers)));
    }

    fn watched(&self, catalog: &Catalog) -> Watched {
        let docs = self.source.files();
        let folders: BTreeSet<PathBuf> = catalog.folders().map(Path::to_owned).chain(docs.folders).collect();
        Watched {
            files: catalog.files().map(Path::to_owned).chain(docs.files).collect(),
            endings: if folders.is_empty() { &[] } else { &WATCHED_ENDINGS },
            folders,
        }
    }
}

/// Source of the documentation index of a catalog.
struct DocumentationSource {
    toolsets: BTreeMap<String, ToolsetSettings>,
    base_dir: PathBuf,
    /// Embedder for semantic search, in addition to keyword search.
    embedder: Option<Arc<dyn Embedder>>,
}

impl DocumentationSource {
    /// Returns the files of the further documentation, and the folders where files may be added.
    fn files(&self) -> DocumentFiles {
        let docs = self.toolsets.values().flat_map(|toolset| &toolset.docs);
        let paths: Vec<PathBuf> = docs.map(|docs| self.base_dir.join(&docs.path)).collect();
        explain::document_files(&paths)
    }

    fn stamps(&self) -> BTreeMap<PathBuf, Option<Stamp>> {
        stamps(self.files().files.iter().map(PathBuf::as_path))
    }

    async fn explainer(&self, catalog: &Catalog) -> Explainer {
        let settings = explain::Settings::default();
        let sections = further_docs::sections(catalog, &self.toolsets, &self.base_dir, &settings);
        let Some(embedder) = self.embedder.as_ref().filter(|embedder| !embedder.is_immediate()) else {
            let docs = deferred_documentation(catalog, sections);
            return Explainer::deferred(docs, &settings, self.embedder.as_ref());
        };
        // Embedding takes too long for the turn whose call failed first.
        let docs = catalog.toolsets().flat_map(|toolset| documentation(toolset)).collect();
        let mut explainer = Explainer::build(docs, sections, &settings);
        if let Err(error) = explainer.embed_passages(embedder).await {
            tracing::warn!(%error, "documentation is searched by keywords only");
        }
        explainer
    }
}

/// File name extensions that are watched in the folders of toolsets and of their documentation.
static WATCHED_ENDINGS: LazyLock<Vec<&str>> =
    LazyLock::new(|| DOCUMENT_ENDINGS.into_iter().chain(explain::documentation_endings()).collect());

fn stamps<'f>(files: impl Iterator<Item = &'f Path>) -> BTreeMap<PathBuf, Option<Stamp>> {
    files.map(|file| (file.to_owned(), stamp(file))).collect()
}

/// Returns `None` if the file does not exist.
fn stamp(file: &Path) -> Option<Stamp> {
    let found = fs::metadata(file).ok()?;
    Some((found.len(), found.ctime(), found.ctime_nsec(), found.ino()))
}

/// Reports the load result of each document in the log and the metrics.
fn report_loaded(catalog: &Catalog, settings: &executor::Settings, metrics: &Metrics) {
    metrics.catalog(catalog.toolsets().map(|toolset| {
        let report = &toolset.report;
        (toolset.name.as_str(), report.operations_loaded, report.operations_skipped.len())
    }));
    for toolset in catalog.toolsets() {
        let (loaded, skipped) = (toolset.report.operations_loaded, toolset.report.operations_skipped.len());
        metrics.known_tools(toolset.operations.iter().map(|operation| operation.tool.name.as_str()));
        tracing::info!(toolset = toolset.name, loaded, skipped, "document loaded");
        for fault in executor::audit_credentials(toolset) {
            tracing::warn!(toolset = toolset.name, "{fault}");
        }
        for catalog::SkippedOperation { operation, reason, .. } in &toolset.report.operations_skipped {
            tracing::warn!(toolset = toolset.name, operation, reason, "operation skipped");
        }
    }
    for finding in audit_toolsets(catalog, settings, &BTreeSet::new()).unwrap_or_default() {
        finding.log();
    }
}

/// Logs representations of tools that do not exist.
fn warn_of_unknown_representations(catalog: &Catalog, representations: &Representations) {
    let toolsets: Vec<&str> = catalog.toolsets().map(|toolset| toolset.name.as_str()).collect();
    let messages = representations.unknown_names(&toolsets, |name| {
        let toolset = catalog.toolset(name)?;
        Some(toolset.operations.iter().map(catalog::Operation::own_name).collect())
    });
    for message in messages {
        tracing::warn!("{message}");
    }
}

/// Logs the tools of the operator's edges file that do not exist.
fn warn_of_unknown_tools(producers: &ProducerIndex) {
    for name in producers.strangers() {
        tracing::warn!(
            tool = name,
            "`planner.edges` names a tool that no toolset has; the entry applies only to a client's tool of that name"
        );
    }
}

/// Returns the documentation of each toolset, with its further sections, for the explainer.
fn deferred_documentation(
    catalog: &Catalog,
    sections: Vec<(String, explain::Section)>,
) -> BTreeMap<String, DeferredDocs> {
    let mut further: BTreeMap<String, Vec<explain::Section>> = BTreeMap::new();
    for (toolset, section) in sections {
        further.entry(toolset).or_default().push(section);
    }
    let deferred = catalog.toolsets().map(|toolset| {
        let (name, sections) = (toolset.name.clone(), further.remove(&toolset.name).unwrap_or_default());
        let tools = toolset.operations.iter().map(|operation| operation.own_name().to_owned()).collect();
        let toolset = Arc::clone(toolset);
        let read = Box::new(move || (documentation(&toolset).collect(), sections.clone()));
        (name, DeferredDocs { tools, read })
    });
    deferred.collect()
}

/// Returns the documentation texts of each operation, for the explainer.
fn documentation(toolset: &Toolset) -> impl Iterator<Item = OperationDocs> {
    toolset.operations.iter().map(|operation| OperationDocs {
        toolset: toolset.name.clone(),
        tool: operation.own_name().to_owned(),
        texts: toolset.documentation_of(operation).cloned().collect(),
    })
}
