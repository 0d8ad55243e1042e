//! Builds every room from the settings, in the order of their levels.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::catalog::{Catalog, LoadError};
use crate::config::Settings;
use crate::domain::DocText;
use crate::executor::Executor;
use crate::explain::{Explainer, OperationDocs};
use crate::feedback::TemplateError;
use crate::http::ServeError;
use crate::pipeline::{Parts, Pipeline};
use crate::policy::PolicyError;
use crate::scanner::Validators;
use crate::store::{Store, TraceQueue};
use crate::telemetry::Metrics;
use crate::upstream::Upstreams;
use crate::watch::Watcher;
use crate::{executor, upstream};

use super::{policies, templates};

/// A proxy that cannot start. Each message names the file or key, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A listener cannot be had.
    #[error(transparent)]
    Listen(#[from] ServeError),
    /// A listener does not tell its address.
    #[error("a listener does not tell its address: {0}")]
    Address(io::Error),
    /// An upstream's settings are of no use.
    #[error(transparent)]
    Upstream(#[from] upstream::BuildError),
    /// A toolset's document cannot be read.
    #[error(transparent)]
    Catalog(#[from] LoadError),
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
    pub(super) metrics: Arc<Metrics>,
    /// Files are watched while these live.
    pub(super) watchers: Vec<Watcher>,
}

/// Builds every room.
pub(super) async fn build(settings: Settings, base_dir: &Path) -> Result<Built, StartError> {
    // One provider for every TLS connection; it may have been installed by an earlier start in this process.
    let _ = rustls::crypto::ring::default_provider().install_default();

    let metrics = Arc::new(Metrics::new());
    metrics.known_upstreams(settings.upstreams.keys().map(String::as_str));
    let store = Arc::new(Store::open(&settings.store, base_dir).await);
    let dropped = metrics.clone();
    let traces = TraceQueue::start(store.clone(), &settings.store, move |count| dropped.traces_dropped.inc_by(count));

    let catalog = Arc::new(Catalog::load(&settings.toolsets, base_dir)?);
    report(&catalog, &metrics);
    let explainer = Arc::new(Explainer::build(documentation(&catalog), &settings.explain));
    let executor = Executor::build(&settings.executor, store.clone())?;
    let (templates, template_watcher) = templates::load(&settings.feedback)?;
    let (policies, policy_watcher) = policies::load(&settings.policies, &settings.aliases, base_dir, &metrics)?;

    let pipeline = Pipeline::new(Parts {
        settings: settings.pipeline,
        aliases: settings.aliases,
        upstreams: Upstreams::build(&settings.upstreams, &settings.default_upstream)?,
        catalog,
        explainer,
        policies,
        validators: Validators::new(&settings.scanner),
        templates,
        executor,
        traces,
        metrics: metrics.clone(),
    });
    let watchers = policy_watcher.into_iter().chain(template_watcher).collect();
    Ok(Built { pipeline: Arc::new(pipeline), store, metrics, watchers })
}

/// Says what became of each document, in the log and the metrics.
fn report(catalog: &Catalog, metrics: &Metrics) {
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
    let of_toolset = |toolset: &Arc<crate::catalog::Toolset>| {
        let toolset = toolset.clone();
        let docs: Vec<OperationDocs> = toolset
            .operations
            .iter()
            .map(|operation| OperationDocs {
                toolset: toolset.name.clone(),
                tool: operation.tool.name.clone(),
                texts: toolset.documentation_of(operation).cloned().collect::<Vec<DocText>>(),
            })
            .collect();
        docs
    };
    catalog.toolsets().flat_map(of_toolset).collect()
}
