//! Composition root: builds every module from the settings, reloads documents, policies and certificates,
//! and shuts down in order.
//!
//! Owns the order of construction and of shutdown. Depends on every other module. Must not be used by any module but
//! `cli`.

mod build;
mod certificates;
mod documents;
mod expiry;
mod following;
mod further_docs;
mod hangup;
mod keys;
mod memory;
mod operator_files;
mod own_listeners;
mod representations;
mod shutdown;
mod start_error;
mod toolset_audit;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::config::Settings;
use crate::http::{
    self, ApprovalStreams, BodyShares, ClientSide, Connections, OperatorSide, RequestGuard, Serving, Tls,
    WorkerThreads, Workers,
};
use crate::keys::OperatorToken;
use crate::pipeline::{MemoryLimit, TURN_LOG_TARGET};
use callwright_common::watch::Watcher;
use callwright_executor::AddressAudit;
use callwright_store::StoreClaim;
use callwright_telemetry::labels::Listener;
use callwright_telemetry::{self as telemetry, DelayedLines, LogError};

use certificates::scheme;

pub use crate::http::limit_of_open_files;
pub use crate::pipeline::ToolsetState;
pub use certificates::{CertificateState, certificates};
pub use documents::{load_catalog, public_fetcher};
pub use hangup::Hangups;
pub use operator_files::policy_book;
pub use own_listeners::{connected, own_listener};
pub use shutdown::termination_requested;
pub use start_error::StartError;
pub use toolset_audit::{ToolsetFinding, audit_policies, audit_toolsets, forbidden_names};

/// Starts logging to standard error by the settings. Call it once per process, and drop the result at its end.
///
/// # Errors
/// If the filter cannot be parsed, or logging has been started already.
pub fn start_logs(settings: &Settings) -> Result<DelayedLines, LogError> {
    telemetry::init_logs(&settings.telemetry, TURN_LOG_TARGET)
}

/// A running proxy: both listeners are open.
#[derive(Debug)]
pub struct App {
    client_url: String,
    operator_url: String,
    /// State of the operator side, which has all components.
    side: OperatorSide,
    _claim: StoreClaim,
    grace: Duration,
    client_ending: CancellationToken,
    operator_ending: CancellationToken,
    client_task: JoinHandle<()>,
    operator_task: JoinHandle<()>,
    _workers: WorkerThreads,
    addresses: AddressAudit,
    /// Watchers of documents, policies and certificates; dropping one stops it.
    watchers: Vec<Watcher>,
}

impl App {
    /// Builds all modules and opens both listeners. Relative paths in the settings are relative to `base_dir`.
    ///
    /// # Errors
    /// If a listener cannot be opened, or a file that the settings name cannot be read.
    pub async fn start(settings: Settings, base_dir: &Path) -> Result<Self, StartError> {
        let server = settings.server.clone();
        // An address in use must not change the store first.
        let client_listener = http::bind(server.listen, "listen").await?;
        let operator_listener = http::bind(server.operator_listen, "operator_listen").await?;
        let client = client_listener.local_addr().map_err(StartError::Address)?;
        let operator = operator_listener.local_addr().map_err(StartError::Address)?;
        if let Some(own) = own_listener(&settings.upstreams, [client, operator]).await {
            return Err(StartError::OwnListener(own));
        }
        let claim = StoreClaim::take(&settings.store, base_dir)?;
        let addresses = AddressAudit::new(&settings.executor)?;
        let built = build::build(settings, base_dir).await?;
        let client_tls = Tls::load(Listener::Client, &server, built.metrics.clone())?;
        let operator_tls = Tls::load(Listener::Operator, &server, built.metrics.clone())?;
        let watcher = certificates::watch(client_tls.iter().chain(&operator_tls).cloned().collect());
        let client_url = format!("{}://{client}", scheme(client_tls.as_ref()));
        let operator_url = format!("{}://{operator}", scheme(operator_tls.as_ref()));

        let are_keys_required = built.access.is_required();
        let client_guard = RequestGuard::of_clients(&server, are_keys_required, client.ip(), built.metrics.clone());
        let operator_guard = RequestGuard::of_operators(&server, operator.ip(), built.metrics.clone());
        let operator_token = Arc::new(OperatorToken::of(&server.operator_token));
        let client_side = ClientSide {
            operator_token: operator_token.clone(),
            pipeline: built.pipeline.clone(),
            store: built.store.clone(),
            access: built.access.clone(),
            metrics: built.metrics.clone(),
            body_limit_bytes: server.body_limit_bytes,
            body_memory: MemoryLimit::new(server.body_memory(), &built.metrics.request_body_bytes),
            body_shares: BodyShares::of_settings(&server),
        };
        let operator_side = OperatorSide {
            pipeline: built.pipeline,
            store: built.store,
            access: built.access,
            token: operator_token,
            metrics: built.metrics,
            draining: Arc::new(AtomicBool::new(false)),
            approval_streams: ApprovalStreams::default(),
        };
        let client_router = http::client_router(client_side, client_guard);
        let side = operator_side.clone();
        let operator_router = http::operator_router(operator_side, operator_guard);
        let (client_ending, operator_ending) = (CancellationToken::new(), CancellationToken::new());
        let count = server.worker_count();
        let workers = WorkerThreads::start(count).map_err(|source| StartError::Workers { count, source })?;
        let clients = Serving {
            connections: Connections::new(Listener::Client, &server, side.metrics.clone()),
            tls: client_tls,
            router: client_router,
            workers: workers.workers(),
            ending: client_ending.clone(),
        };
        let operators = Serving {
            connections: Connections::new(Listener::Operator, &server, side.metrics.clone()),
            tls: operator_tls,
            router: operator_router,
            workers: Workers::current(),
            ending: operator_ending.clone(),
        };
        let client_task = tokio::spawn(http::serve(client_listener, clients));
        let operator_task = tokio::spawn(http::serve(operator_listener, operators));
        expiry::start(side.store.clone(), side.pipeline.clone(), operator_ending.clone());
        shutdown::switch_by_signal(side.pipeline.clone(), operator_ending.clone());
        keys::start(&side.access, side.store.clone(), side.metrics.clone(), operator_ending.clone());
        built.memories.start(operator_ending.clone());
        built.representations.start(operator_ending.clone(), built.documents);
        tracing::info!(%client, %operator, "listening; paths below /v1/ other than chat/completions, responses, messages and models are passed through unguarded");
        Ok(Self {
            client_url,
            operator_url,
            side,
            _claim: claim,
            grace: Duration::from_secs(server.shutdown_grace_seconds),
            client_ending,
            operator_ending,
            client_task,
            operator_task,
            _workers: workers,
            addresses,
            watchers: built.watchers.into_iter().chain([watcher]).collect(),
        })
    }

    /// Base URL of the client side, without `/v1`.
    pub fn client_url(&self) -> &str {
        &self.client_url
    }

    /// Base URL of the operator side.
    pub fn operator_url(&self) -> &str {
        &self.operator_url
    }

    /// Returns the number of tools of each toolset, and how many of them can be called.
    pub fn toolset_states(&self) -> Vec<ToolsetState> {
        self.side.pipeline.inspect().toolset_states(|server| !self.addresses.forbids(server))
    }

    /// Shuts down in order: refuses new connections, finishes running turns without waiting for approvals, writes
    /// traces, and closes the operator listener. Work that exceeds the grace time is abandoned.
    pub async fn stop(self) {
        self.side.draining.store(true, Ordering::Relaxed);
        self.client_ending.cancel();
        self.side.pipeline.approvals.end_waiting();
        let finished = async {
            // A connection that a client keeps open without using it must not delay the shutdown.
            let _ = self.client_task.await;
            self.side.pipeline.drain().await;
        };
        if tokio::time::timeout(self.grace, finished).await.is_err() {
            tracing::warn!(
                grace_seconds = self.grace.as_secs(),
                "turns were still running at the end of the grace time"
            );
        }
        self.side.pipeline.flush(FLUSH_TIME).await;
        if self.side.access.is_required() {
            self.side.access.finish().await;
        }
        self.side.store.close().await;
        self.operator_ending.cancel();
        let _ = tokio::time::timeout(OPERATOR_GRACE, self.operator_task).await;
    }
}

/// Time limit for writing queued traces at shutdown; orchestrators kill the process some seconds after the grace time.
const FLUSH_TIME: Duration = Duration::from_secs(5);
/// Time limit for a scrape in flight at shutdown.
const OPERATOR_GRACE: Duration = Duration::from_secs(1);
