//! The catalog with its documentation, and their reload when documents change.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;

use crate::catalog::{self, Catalog, LoadError, Toolset, ToolsetSettings};
use crate::config::Settings;
use crate::domain::DocText;
use crate::executor::audit_credentials;
use crate::explain::{self, Explainer, OperationDocs};
use crate::pipeline::Tooling;
use crate::telemetry::Metrics;
use crate::telemetry::labels::ResultLabel;
use crate::watch::{self, Watcher};

/// Loads the documents of all toolsets, and watches their files where the settings say so. Turns that run keep what they began with.
pub(super) fn load(
    settings: &Settings,
    base_dir: &Path,
    metrics: &Arc<Metrics>,
) -> Result<(Arc<ArcSwap<Tooling>>, Option<Watcher>), LoadError> {
    let catalog = Catalog::load(&settings.toolsets, base_dir)?;
    let mut documents = Documents {
        toolsets: settings.toolsets.clone(),
        base_dir: base_dir.to_owned(),
        explain: settings.explain.clone(),
        cached_offers: settings.pipeline.toolbook_cache_entries,
        metrics: metrics.clone(),
        seen: stamps(&catalog),
    };
    tell(&catalog, metrics);
    let current = Arc::new(ArcSwap::from_pointee(documents.tooling(catalog)));
    let catalog::Settings { reload, reload_quiet_milliseconds } = settings.catalog;
    if !reload || documents.seen.is_empty() {
        return Ok((current, None));
    }
    let replaced = current.clone();
    let quiet = Duration::from_millis(reload_quiet_milliseconds);
    let watcher = watch::watch_files(documents.files(), quiet, "document-reload", move || {
        documents.reload(&replaced);
        documents.files()
    });
    // Documents that are loaded and do not reload are better than no proxy.
    let watcher = watcher.inspect_err(|error| tracing::error!(%error, "documents will not reload")).ok();
    Ok((current, watcher))
}

/// What a reload needs to know.
struct Documents {
    toolsets: BTreeMap<String, ToolsetSettings>,
    base_dir: PathBuf,
    explain: explain::Settings,
    cached_offers: u64,
    metrics: Arc<Metrics>,
    /// What the files looked like when they were last read, for good or ill.
    seen: BTreeMap<PathBuf, Option<Stamp>>,
}

/// What tells that a file was replaced or written to: size, time of change in nanoseconds, file number.
type Stamp = (u64, i128, u64);

impl Documents {
    fn files(&self) -> BTreeSet<PathBuf> {
        self.seen.keys().cloned().collect()
    }

    /// Reads the toolsets anew whose files have changed. One that cannot be read stays as it was.
    fn reload(&mut self, current: &ArcSwap<Tooling>) {
        let changed: BTreeSet<PathBuf> =
            self.seen.iter().filter(|(file, seen)| stamp(file) != **seen).map(|(file, _)| file.clone()).collect();
        if changed.is_empty() {
            return;
        }
        for file in &changed {
            self.seen.insert(file.clone(), stamp(file));
        }
        let before = current.load_full();
        let (catalog, errors) = before.catalog.reload(&self.toolsets, &self.base_dir, &|file| changed.contains(file));
        for error in &errors {
            tracing::error!(%error, "document not reloaded: what was loaded before stays");
        }
        self.seen.extend(stamps(&catalog).into_iter().filter(|(file, _)| !changed.contains(file)));
        tell(&catalog, &self.metrics);
        current.store(Arc::new(self.tooling(catalog)));
        self.metrics.catalog_reloads.inc(if errors.is_empty() { ResultLabel::Success } else { ResultLabel::Failure });
    }

    fn tooling(&self, catalog: Catalog) -> Tooling {
        let explainer = Explainer::build(documentation(&catalog), &self.explain);
        Tooling::new(catalog, explainer, self.cached_offers)
    }
}

fn stamps(catalog: &Catalog) -> BTreeMap<PathBuf, Option<Stamp>> {
    catalog.toolsets().flat_map(|toolset| toolset.files()).map(|file| (file.to_owned(), stamp(file))).collect()
}

/// `None`: there is no such file now.
fn stamp(file: &Path) -> Option<Stamp> {
    const NANOSECONDS: i128 = 1_000_000_000;
    let found = fs::metadata(file).ok()?;
    Some((found.len(), i128::from(found.ctime()) * NANOSECONDS + i128::from(found.ctime_nsec()), found.ino()))
}

/// Says what became of each document, in the log and the metrics.
fn tell(catalog: &Catalog, metrics: &Metrics) {
    metrics.catalog(catalog.toolsets().map(|toolset| {
        let report = &toolset.report;
        (toolset.name.as_str(), report.operations_loaded, report.operations_skipped.len())
    }));
    for toolset in catalog.toolsets() {
        let (loaded, skipped) = (toolset.report.operations_loaded, toolset.report.operations_skipped.len());
        metrics.known_tools(toolset.operations.iter().map(|operation| operation.tool.name.as_str()));
        tracing::info!(toolset = toolset.name, loaded, skipped, "document loaded");
        for fault in audit_credentials(toolset) {
            tracing::warn!(toolset = toolset.name, "{fault}");
        }
        for skipped in &toolset.report.operations_skipped {
            tracing::warn!(
                toolset = toolset.name,
                operation = skipped.operation,
                reason = skipped.reason,
                "operation skipped"
            );
        }
    }
}

/// What the documents say about each operation, for the explainer.
fn documentation(catalog: &Catalog) -> Vec<OperationDocs> {
    let of_toolset = |toolset: &Arc<Toolset>| {
        let toolset = toolset.clone();
        let docs: Vec<OperationDocs> = toolset
            .operations
            .iter()
            .map(|operation| OperationDocs {
                toolset: toolset.name.clone(),
                tool: operation.own_name().to_owned(),
                texts: toolset.documentation_of(operation).cloned().collect::<Vec<DocText>>(),
            })
            .collect();
        docs
    };
    catalog.toolsets().flat_map(of_toolset).collect()
}
