//! The services that all turns share: settings, stores, upstreams, caches and metrics.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use futures_util::FutureExt;
use tokio_util::task::TaskTracker;

use crate::keys::Access;
use crate::webhook::Webhook;
use callwright_executor::Executor;
use callwright_judge::scanner::{BudgetLimits, Validators};
use callwright_plan as planner;
use callwright_policy::PolicyBook;
use callwright_search::retrieval::TextVectors;
use callwright_store::{Store, StoreError, TraceQueue};
use callwright_telemetry::labels::{CacheName, Label, Stage};
use callwright_telemetry::{Metrics, Spans};
use callwright_types::Protocol;
use callwright_types::trace::Execution;
use callwright_upstream::{RequestBudget, Upstream, Upstreams};

use super::approvals::ApprovalDesk;
use super::caches::Caches;
use super::cpu::CpuSlots;
use super::memory_limit::MemoryLimit;
use super::refusal_log::RefusalLog;
use super::settings::{AliasSettings, PassThroughSettings, Settings};
use super::snapshot::{RecallMemory, Tooling};
use super::switch::Switch;

/// Components of the pipeline.
#[derive(Debug)]
pub struct PipelineParts {
    /// Settings that apply to every turn.
    pub settings: Settings,
    /// Model aliases by name.
    pub aliases: Arc<BTreeMap<String, AliasSettings>>,
    /// The providers.
    pub upstreams: Upstreams,
    /// Upstreams for requests that are passed through.
    pub passing: PassThroughSettings,
    /// The toolsets and their documentation; replaced when documents change.
    pub tooling: Arc<ArcSwap<Tooling>>,
    /// The policies in force; replaced when files change.
    pub policies: Arc<ArcSwap<PolicyBook>>,
    /// Compiled schemas.
    pub validators: Validators,
    /// Budget for the validation of one answer.
    pub judgement: BudgetLimits,
    /// Executes calls of the catalog's tools.
    pub executor: Executor,
    /// Store of approvals, plans, and the proxy's part of mixed answers.
    pub store: Arc<Store>,
    /// Receiver of notifications of approvals, if one is configured.
    pub webhook: Option<Webhook>,
    pub planner: planner::Settings,
    /// Limits of the proxy's own requests to models.
    pub own_requests: Arc<RequestBudget>,
    /// Virtual keys and their limits.
    pub access: Arc<Access>,
    /// Lessons and procedures; replaced when this process or another replica learns something.
    pub memory: Arc<ArcSwap<RecallMemory>>,
    /// Limit of the memory of all answers.
    pub answer_memory: Arc<MemoryLimit>,
    /// Queue of finished traces.
    pub traces: TraceQueue,
    pub metrics: Arc<Metrics>,
    /// Exporter of OpenTelemetry spans.
    pub spans: Spans,
    /// Whether each turn is logged.
    pub log_turns: bool,
}

/// The services that all turns share.
#[derive(Debug)]
pub struct Pipeline {
    parts: PipelineParts,
    pub(crate) caches: Caches,
    pub(crate) approvals: ApprovalDesk,
    pub(crate) cpu: CpuSlots,
    pub(crate) switch: Switch,
    refusals: RefusalLog,
    pub(crate) running: TaskTracker,
    /// Whether an unguarded request was logged, by protocol.
    logged_unguarded: [AtomicBool; Protocol::ALL.len()],
}

impl Deref for Pipeline {
    type Target = PipelineParts;

    fn deref(&self) -> &PipelineParts {
        &self.parts
    }
}

impl Pipeline {
    /// Creates a pipeline.
    pub fn new(mut parts: PipelineParts) -> Self {
        let webhook = parts.webhook.take();
        Self {
            caches: Caches::new(&parts.settings),
            approvals: ApprovalDesk::new(Arc::clone(&parts.store), parts.metrics.clone(), webhook),
            cpu: CpuSlots::of_machine(parts.settings.max_waiting_work, parts.metrics.clone()),
            switch: Switch::default(),
            refusals: RefusalLog::default(),
            running: TaskTracker::new(),
            logged_unguarded: Default::default(),
            parts,
        }
    }

    /// Maximum time that the head of a streamed answer waits for the head of the upstream's answer.
    pub fn hold_head(&self) -> Duration {
        Duration::from_secs(self.settings.hold_head_seconds.max(1))
    }

    /// Time of silence after which a stream gets a keep-alive comment.
    pub fn keep_alive(&self) -> Duration {
        Duration::from_secs(self.settings.keep_alive_seconds.max(1))
    }

    /// Logs a refused execution, if it has to be logged.
    pub(crate) fn note_refusal(&self, execution: &Execution, policy: &str) {
        self.refusals.note(&self.tooling.load().catalog, &self.policies.load(), execution, policy);
    }

    /// Whether an upstream serves this protocol.
    pub fn serves(&self, protocol: Protocol) -> bool {
        self.upstreams.iter().any(|upstream| upstream.settings().serves(protocol))
    }

    /// Counts a request that passes through unguarded, because no upstream serves its protocol. Logs the first one.
    pub fn unguarded(&self, protocol: Protocol) {
        self.metrics.unguarded_requests.inc(protocol);
        let logged = self.logged_unguarded.get(protocol as usize);
        if logged.is_some_and(|logged| !logged.swap(true, Ordering::Relaxed)) {
            tracing::warn!(
                path = protocol.path(),
                "a request passes through unguarded: add `{protocol}` to `protocols` of an upstream to guard it"
            );
        }
    }

    /// Waits until every running turn has ended. The caller must start no new turns.
    pub async fn drain(&self) {
        self.running.close();
        self.running.wait().await;
    }

    /// Writes queued traces and sends queued spans; gives up at `deadline`.
    pub async fn flush(&self, deadline: Duration) {
        tokio::join!(self.traces.drain(deadline), self.spans.flush(deadline));
    }

    /// Updates the metrics of cache sizes.
    pub fn measure_caches(&self) {
        let tooling = self.tooling.load();
        let [tool_lists, searched] = tooling.offers.usage();
        let names = tooling.toolset_index.text_vectors.as_ref().map(TextVectors::usage).unwrap_or_default();
        for (name, usage) in [
            (CacheName::ToolLists, tool_lists),
            (CacheName::SearchedTools, searched),
            (CacheName::Schemas, self.validators.usage()),
            (CacheName::OfferedTools, self.caches.offers.usage()),
            (CacheName::Lessons, self.caches.lessons.usage()),
            (CacheName::Outlines, self.caches.outlines.usage()),
            (CacheName::ToolMessages, tooling.seen.usage()),
            (CacheName::NameVectors, names),
            (CacheName::ArgumentSources, tooling.producers.usage()),
        ] {
            self.metrics.cache_bytes.set(name, usage.bytes);
            self.metrics.cache_entries.set(name, usage.entries);
        }
    }

    /// Updates the metrics of upstream load.
    pub fn measure_upstreams(&self) {
        for upstream in self.upstreams.iter() {
            let load = upstream.load();
            self.metrics.upstream_load(upstream.name(), load.in_flight, load.queued, load.circuit);
            for learned in upstream.deliveries() {
                self.metrics.native_call_share.set(upstream.name(), &learned.model, learned.native_share);
            }
        }
    }

    /// Returns the upstream of that name; the default one if the name is empty. Names are validated with the
    /// configuration.
    pub(crate) fn upstream(&self, name: &str) -> Arc<Upstream> {
        self.upstreams.get(name).unwrap_or_else(|| self.upstreams.default_upstream()).clone()
    }

    /// Runs a synchronous stage and records its duration.
    pub(crate) fn timed<T>(&self, stage: Stage, run: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let result = run();
        self.metrics.overhead.observe(stage, started.elapsed());
        result
    }

    /// Returns the result of a store operation. A failure is counted for `stage` and logged with its `consequence`,
    /// unless the operator disabled the store.
    pub(crate) fn stored<T>(&self, result: Result<T, StoreError>, stage: Stage, consequence: &str) -> Option<T> {
        if let Err(error) = &result
            && *error != StoreError::Off
        {
            tracing::warn!(%error, "{consequence}");
            self.metrics.stage_degraded.inc(stage);
        }
        result.ok()
    }

    /// Awaits an auxiliary stage. A panic in it must not affect the turn: it is counted and logged with its
    /// `consequence`.
    pub(crate) async fn shielded<T>(
        &self,
        stage: Stage,
        consequence: &str,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let result = AssertUnwindSafe(work).catch_unwind().await;
        if result.is_err() {
            tracing::error!("the {} stage panicked: {consequence}", stage.label());
            self.metrics.stage_degraded.inc(stage);
        }
        result.ok()
    }
}
