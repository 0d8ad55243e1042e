//! The processing of a request; start with `turn.rs`.
//!
//! Owns the sequence of stages, the dialogue that decides the next step, and the snapshot of a turn. Must not know
//! HTTP servers, SQL, or OpenAI JSON.

mod answer;
mod approvals;
mod charge;
mod cpu;
mod dialogue;
mod inspection;
mod memory;
mod pass_through;
mod plan_context;
mod planning_models;
mod producer_index;
#[cfg(test)]
mod producer_index_tests;
mod query_vectors;
mod record;
mod settings;
mod snapshot;
mod stages;
mod switch;
mod targets;
mod toolset_index;
mod turn;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use crate::keys::Access;
use callwright_executor::Executor;
use callwright_judge::feedback::Templates;
use callwright_judge::repair::Notations;
use callwright_judge::scanner::{BudgetLimits, Validators};
use callwright_knowledge::planner;
use callwright_policy::PolicyBook;
use callwright_search::retrieval::TextVectors;
use callwright_store::{Approvals, KeptParts, PlanStates, TraceQueue};
use callwright_telemetry::labels::CacheName;
use callwright_telemetry::{Metrics, Spans};
use callwright_upstream::{Upstream, Upstreams};

pub use answer::{AnswerBody, DeliveryAck, NoAnswer, PendingAnswer, Running, TurnAnswer};
pub use approvals::ApprovalDesk;
pub use charge::{refusal_body, refusal_headers};
pub use inspection::{Editing, Inspection, ToolShown, UpstreamShown};
pub use memory::RecallMemory;
pub use pass_through::{PassThrough, Passed};
pub use producer_index::ProducerIndex;
pub use settings::{AliasSettings, FallbackSettings, PassThroughSettings, Settings, TargetSettings};
pub use snapshot::{Snapshot, Tooling};
pub use stages::kept_key::tenant;
pub use stages::offer::SEARCH_TOOL;
pub use stages::open::TurnRequest;
pub use switch::{Switch, Switched, Thrown};
pub use toolset_index::ToolsetIndex;

use answer::ResponseSender;
use cpu::{CpuSlots, CpuWork};
use planning_models::PlanningModels;
use stages::offer::OfferedBefore;
use stages::open;
use stages::plan::OutlinedBefore;
use stages::recall::RecalledBefore;
use turn::Turn;

/// Components of the pipeline.
#[derive(Debug)]
pub struct PipelineParts {
    /// Settings that apply to every turn.
    pub settings: Settings,
    /// Model aliases by name.
    pub aliases: BTreeMap<String, AliasSettings>,
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
    /// Feedback templates.
    pub templates: Templates,
    /// The notations for calls in texts; replaced when the operator's file changes.
    pub notations: Arc<ArcSwap<Notations>>,
    /// Executes calls of the catalog's tools.
    pub executor: Executor,
    /// Store of the proxy's part of mixed answers.
    pub kept: Arc<dyn KeptParts>,
    /// Store of the calls that need approval by a person.
    pub approvals: Arc<dyn Approvals>,
    /// Settings of the planner.
    pub planner: planner::Settings,
    /// Store of the plans that wait for client results.
    pub plans: Arc<dyn PlanStates>,
    /// Virtual keys and their limits.
    pub access: Arc<Access>,
    /// Lessons and procedures; replaced when this process or another replica learns something.
    pub memory: Arc<ArcSwap<RecallMemory>>,
    /// Queue of finished traces.
    pub traces: TraceQueue,
    /// Metrics.
    pub metrics: Arc<Metrics>,
    /// Exporter of OpenTelemetry spans.
    pub spans: Spans,
}

/// State shared by all turns.
#[derive(Debug)]
pub struct Pipeline {
    settings: Settings,
    aliases: Arc<BTreeMap<String, AliasSettings>>,
    upstreams: Upstreams,
    passing: PassThroughSettings,
    tooling: Arc<ArcSwap<Tooling>>,
    policies: Arc<ArcSwap<PolicyBook>>,
    validators: Validators,
    judgement: BudgetLimits,
    templates: Templates,
    notations: Arc<ArcSwap<Notations>>,
    executor: Executor,
    kept: Arc<dyn KeptParts>,
    approvals: ApprovalDesk,
    planner: planner::Settings,
    plans: Arc<dyn PlanStates>,
    planning_models: PlanningModels,
    traces: TraceQueue,
    metrics: Arc<Metrics>,
    spans: Spans,
    offered_before: OfferedBefore,
    recalled_before: RecalledBefore,
    outlined_before: OutlinedBefore,
    cpu: CpuSlots,
    access: Arc<Access>,
    memory: Arc<ArcSwap<RecallMemory>>,
    switch: Switch,
    running: TaskTracker,
}

impl Pipeline {
    /// Creates a pipeline.
    pub fn new(parts: PipelineParts) -> Self {
        let PipelineParts { settings, aliases, upstreams, passing, tooling, policies, .. } = parts;
        let PipelineParts {
            validators, templates, notations, executor, kept, approvals, planner, plans, access, ..
        } = parts;
        let PipelineParts { judgement, memory, traces, metrics, spans, .. } = parts;
        let offered_before = OfferedBefore::new(settings.remembered_tools_bytes);
        let recalled_before = RecalledBefore::new(settings.remembered_notes_bytes);
        let outlined_before = OutlinedBefore::new(settings.remembered_notes_bytes);
        let cpu = CpuSlots::of_machine(settings.max_waiting_work, metrics.clone());
        Self {
            settings,
            aliases: Arc::new(aliases),
            upstreams,
            passing,
            tooling,
            policies,
            validators,
            judgement,
            templates,
            notations,
            executor,
            kept,
            approvals: ApprovalDesk::new(approvals, metrics.clone()),
            planning_models: PlanningModels::new(&planner),
            planner,
            plans,
            traces,
            metrics,
            spans,
            offered_before,
            recalled_before,
            outlined_before,
            cpu,
            access,
            memory,
            switch: Switch::default(),
            running: TaskTracker::new(),
        }
    }

    /// Starts a turn. Started work is completed and recorded even if the client disconnects. Needs a Tokio runtime.
    pub async fn take(self: &Arc<Self>, request: TurnRequest) -> PendingAnswer {
        let cancelled = CancellationToken::new();
        let (head, answer) = oneshot::channel();
        let mut response_sender = ResponseSender::new(head, self.settings.stream_buffer_chunks);
        let (caller, key, work) = (request.caller.clone(), request.key(), (CpuWork::Body, request.body.len()));
        let tenant = move || stages::kept_key::tenant_of(&caller, key.as_ref());
        let opened = self.cpu.try_run(tenant, work, || open::open(self, request, cancelled.clone())).await;
        match opened.unwrap_or_else(|overloaded| Err(open::shed(overloaded))) {
            Ok(turn) => {
                // Error level, so that the span is active at every log level and log lines contain the trace id.
                let span = tracing::error_span!("turn", trace = turn.record.trace().id);
                let stream = turn.request.is_stream();
                // API calls have deadlines, so an executing turn must not pause while the client reads nothing.
                let executes = !turn.toolsets.is_empty();
                let pipeline = self.clone();
                if !executes {
                    let turn = async move { drop(turn::take(&pipeline, turn, response_sender).await) };
                    let turn = Box::pin(turn.instrument(span));
                    return PendingAnswer::new(answer, Running::here(turn, cancelled, &self.running), stream);
                }
                let (delivery_ack, delivered) = DeliveryAck::new();
                let executing = async move {
                    if let Some(told) = turn::take(&pipeline, turn, response_sender).await
                        && delivered.await.is_ok()
                    {
                        pipeline.executor.told(&told.trace_id).await;
                    }
                };
                self.running.spawn(executing.instrument(span));
                PendingAnswer::new(answer, Running::elsewhere(cancelled, &self.running), stream)
                    .with_receipt(Some(delivery_ack))
            }
            Err(refusal) => {
                let mut headers = refusal.headers;
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                let body = AnswerBody::Whole(refusal.error.to_bytes());
                response_sender.whole(TurnAnswer { status: refusal.status, headers, body });
                PendingAnswer::new(answer, Running::elsewhere(cancelled, &self.running), false)
            }
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

    /// Returns the approval desk.
    pub fn approvals(&self) -> &ApprovalDesk {
        &self.approvals
    }

    /// Returns the kill switch.
    pub fn switch(&self) -> &Switch {
        &self.switch
    }

    /// Returns the policies in force.
    pub fn policies(&self) -> Arc<PolicyBook> {
        self.policies.load_full()
    }

    /// Returns the names of the model aliases.
    pub fn alias_names(&self) -> impl Iterator<Item = &str> {
        self.aliases.keys().map(String::as_str)
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

    /// Returns the number of traces that wait to be written.
    pub fn traces_waiting(&self) -> usize {
        self.traces.waiting()
    }

    /// Returns the bytes of traces that are spooled on disk because the store does not accept writes.
    pub fn traces_on_disk(&self) -> u64 {
        self.traces.on_disk()
    }

    /// Updates the metrics of cache sizes.
    pub fn measure_caches(&self) {
        let tooling = self.tooling.load();
        let [tool_lists, searched] = tooling.offers.usage();
        let names = tooling.shelf.text_vectors().map(TextVectors::usage).unwrap_or_default();
        for (name, usage) in [
            (CacheName::ToolLists, tool_lists),
            (CacheName::SearchedTools, searched),
            (CacheName::Schemas, self.validators.usage()),
            (CacheName::OfferedTools, self.offered_before.usage()),
            (CacheName::Lessons, self.recalled_before.usage()),
            (CacheName::Outlines, self.outlined_before.usage()),
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

    /// Ends a turn: updates metrics, charges its key and queues its trace.
    fn finish(&self, turn: Turn) {
        let Turn { mut record, in_flight, request_permit, span, .. } = turn;
        record.end();
        let trace = record.trace();
        tracing::debug!(
            model = trace.model,
            policy = trace.policy,
            upstream = trace.upstream,
            status = trace.status,
            verdict = trace.verdict.label(),
            attempts = trace.attempts.len(),
            duration_ms = trace.duration_ms,
            "the turn has ended"
        );
        self.metrics.turn_ended(trace);
        charge::charge(self, request_permit, trace);
        if let Some(span) = span {
            self.spans.turn_ended(&span, trace, record.operations());
        }
        self.traces.push(record.close());
        drop(in_flight);
    }

    fn snapshot(&self) -> Snapshot {
        let tooling = self.tooling.load();
        Snapshot {
            catalog: tooling.catalog.clone(),
            explainer: tooling.explainer.clone(),
            memory: self.memory.load_full(),
            policies: self.policies.load_full(),
            notations: self.notations.load_full(),
            aliases: self.aliases.clone(),
            shelf: tooling.shelf.clone(),
            offers: tooling.offers.clone(),
            producers: tooling.producers.clone(),
            seen: tooling.seen.clone(),
            judgement: self.judgement,
        }
    }

    /// Returns the upstream of that name; the default one if the name is empty. Names are validated with the
    /// configuration.
    fn upstream(&self, name: &str) -> Arc<Upstream> {
        self.upstreams.get(name).unwrap_or_else(|| self.upstreams.default_upstream()).clone()
    }
}
