//! All metrics. The doc comment of a metric is its help text.
//!
//! Units are base units (seconds, bytes). Labels are bounded: enumerations, names from the configuration, HTTP
//! statuses.

use std::sync::Arc;

use prometheus::{Histogram, IntCounter, IntGauge, IntGaugeVec, Registry, TextEncoder};

use super::by_model::{KnownModels, ModelCounters, ModelGauges};
use super::family::{
    Counters, Counters2, Family, Gauges, Gauges2, Histograms, NamedAmounts, NamedCounters, Spec, StatusCounters,
};
use super::labels::{
    AttemptOutcome, CacheName, CloseReason, ConnectionRefusal, ConnectionState, Decision, Endpoint, ExecutionOutcome,
    FeedbackKind, HandshakeFailure, HoldEnd, KeyResult, KnownNames, Label, LearningJob, LearningRun, Listener,
    MAX_CLIENT_TOOLS, MemoryKind, OTHER, OperationState, RequestRefusal, ResultLabel, SpanEnd, Stage, TokenKind,
    UnsureResult, WebhookEnd,
};
use super::log_lines::lost_lines;
use callwright_common::tasks;
use callwright_types::outcome::CredentialFault;
use callwright_types::rules::Mode;
use callwright_types::{
    CircuitState, EvidenceKind, FaultCode, PlanResult, PrefixChange, Protocol, Purpose, RefusalReason, RepairKind,
    TurnAction, TurnLimit, TurnOutcome, UnjudgedReason, Verdict,
};

/// Declares the metrics: field, kind, name, labels, buckets. The doc comment is the help text.
macro_rules! metrics {
    ($(
        $(#[doc = $help:literal])+
        $field:ident: $kind:ty = $name:literal $([$($label:literal),+])? $(in $buckets:ident)?;
    )+) => {
        /// All metrics of one process (or of one test: each instance has its own registry).
        #[derive(Debug)]
        pub struct Metrics {
            $($(#[doc = $help])+ pub $field: $kind,)+
            registry: Registry,
            tools: Arc<KnownNames>,
            client_tools: KnownNames,
            upstreams: Arc<KnownNames>,
            toolsets: Arc<KnownNames>,
            groups: Arc<KnownNames>,
        }

        impl Metrics {
            fn register() -> prometheus::Result<Self> {
                let registry = Registry::new();
                let (tools, upstreams, toolsets, groups) = Default::default();
                Ok(Self {
                    $($field: <$kind as Family>::register(Spec {
                        name: $name,
                        help: concat!($($help),+),
                        labels: &[$($($label),+)?],
                        buckets: metrics!(@buckets $($buckets)?),
                    }, &registry)?,)+
                    registry,
                    tools,
                    client_tools: KnownNames::default(),
                    upstreams,
                    toolsets,
                    groups,
                })
            }
        }

        #[cfg(test)]
        const HELP: &[(&str, &str)] = &[$(($name, concat!($($help),+))),+];
        #[cfg(test)]
        const LABELS: &[&str] = &[$($($($label),+ ,)?)+];
    };
    (@buckets) => { &[] };
    (@buckets $buckets:ident) => { $buckets };
}

/// Buckets in seconds for the proxy's own work: from ten microseconds, which is negligible, to a delay that a client
/// would notice.
const OWN_TIME: &[f64] = &[0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25];
/// Buckets in seconds for the work of a model or an API, up to the longest time that clients wait.
const THEIR_TIME: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];
/// Buckets for rounds of feedback: policies permit a few.
const ROUNDS: &[f64] = &[0.0, 1.0, 2.0, 3.0, 5.0, 10.0];
/// Buckets for the number of tools in a turn.
const TOOLS: &[f64] = &[0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0];

metrics! {
    /// Requests answered, by route template and status of the response to the client.
    requests: StatusCounters<Endpoint> = "requests_total" ["endpoint", "status"];
    /// Seconds from a request's arrival to its response: the whole response, or the head of a stream.
    request_duration: Histogram = "request_duration_seconds" in THEIR_TIME;
    /// Seconds of the proxy's own work, by stage; `turn` is the whole turn without upstreams and tool APIs.
    overhead: Histograms<Stage> = "overhead_seconds" ["stage"] in OWN_TIME;
    /// Turns in progress.
    turns_in_flight: IntGauge = "turns_in_flight";
    /// Turns ended, by the policy's mode and the verdict, which follows from outcome and actions.
    turns: Counters2<Mode, Verdict> = "turns_total" ["mode", "verdict"];
    /// Turns ended, by the policy's mode and what the client got.
    turn_outcomes: Counters2<Mode, TurnOutcome> = "turn_outcomes_total" ["mode", "outcome"];
    /// Turns ended, by the policy's mode and what the proxy did to the model's answer; a turn with several actions counts
    /// once for each.
    turn_actions: Counters2<Mode, TurnAction> = "turn_actions_total" ["mode", "action"];
    /// Turns ended in shadow mode, by the verdict on the model's answer: guard mode would repair a `repaired` one, and send
    /// a `faulty` one back.
    shadow_turns: Counters<Verdict> = "shadow_turns_total" ["verdict"];

    /// Turns ended, by protocol and the verdict on the answer.
    protocol_turns: Counters2<Protocol, Verdict> = "protocol_turns_total" ["protocol", "verdict"];
    /// Requests for answers that passed through unguarded, because no upstream's `protocols` has their protocol.
    unguarded_requests: Counters<Protocol> = "unguarded_requests_total" ["protocol"];

    /// 1 if the kill switch is on for all turns: new ones pass through unguarded.
    switched_off: IntGauge = "switched_off";
    /// Policies whose turns are switched off by the kill switch.
    policies_switched_off: IntGauge = "policies_switched_off";

    /// Virtual keys that are valid now.
    keys: IntGauge = "keys";
    /// Requests for which a virtual key is required, by the key's group (empty: none) and the result.
    key_requests: NamedCounters<KeyResult> = "key_requests_total" ["group", "result"];
    /// Tokens charged to virtual keys, by group (empty: none) and kind; estimated if an upstream reported none.
    key_tokens: NamedCounters<TokenKind> = "key_tokens_total" ["group", "kind"];
    /// Cost charged to virtual keys by the price table, in its currency, by group (empty: none).
    key_cost: NamedAmounts = "key_cost_total" ["group"];

    /// Requests to a model, by upstream and outcome.
    upstream_attempts: NamedCounters<AttemptOutcome> = "upstream_attempts_total" ["upstream", "outcome"];
    /// Requests in flight to an upstream, each until the last byte of its response.
    upstream_in_flight: IntGaugeVec = "upstream_in_flight" ["upstream"];
    /// Requests waiting because the limit of concurrent requests to the upstream is reached.
    upstream_queued: IntGaugeVec = "upstream_queued" ["upstream"];
    /// State of an upstream's circuit breaker: 1 for the current state, 0 for the others.
    upstream_circuit: IntGaugeVec = "upstream_circuit" ["upstream", "state"];
    /// Seconds from sending a request to a model to the last byte of its response.
    upstream_duration: Histogram = "upstream_duration_seconds" in THEIR_TIME;
    /// Seconds from sending a request to a model to the first chunk of its streamed response.
    time_to_first_chunk: Histogram = "time_to_first_chunk_seconds" in THEIR_TIME;
    /// Chunks of streamed text that were held because they might be calls, by the reason for their release.
    stream_holds: Counters<HoldEnd> = "stream_holds_total" ["outcome"];
    /// Seconds for which a chunk of streamed text was held because it might be a call.
    stream_hold: Histogram = "stream_hold_seconds" in THEIR_TIME;
    /// Tokens as counted by the upstreams, by kind and purpose of the request.
    tokens: Counters2<TokenKind, Purpose> = "tokens_total" ["kind", "purpose"];

    /// Calls of models that were evaluated, by tool and verdict on the call. Clients' own tools are named in order of
    /// their first call up to a limit; the rest is `other`.
    calls_judged: NamedCounters<Verdict> = "calls_judged_total" ["tool", "verdict"];
    /// Calls of models that were evaluated, by upstream, model and verdict on the call. Models are named in order of
    /// their first answer up to a limit; the rest is `other`.
    model_calls: ModelCounters = "model_calls_total" ["upstream", "model", "verdict"];
    /// Faults found in answers, by upstream, model and code of the fault table.
    model_diagnoses: ModelCounters = "model_diagnoses_total" ["upstream", "model", "code"];
    /// Calls that a model wrote as text and that were detected, by upstream, model and notation; in shadow mode they
    /// are counted and remain text.
    rescued_calls: ModelCounters = "rescued_calls_total" ["upstream", "model", "notation"];
    /// Share of answers with native calls among the recent answers with calls, by upstream and model, with exponential
    /// decay.
    native_call_share: ModelGauges = "native_call_share" ["upstream", "model"];
    /// Faults found in answers, by code of the fault table.
    diagnoses: Counters<FaultCode> = "diagnoses_total" ["code"];
    /// Answers that are either a call or a text about one, by the result: the model confirmed the call, declined it, or
    /// was not requested to confirm.
    unsure_answers: Counters<UnsureResult> = "unsure_answers_total" ["result"];
    /// Answers that were not evaluated, or only in part, by reason. Those over a budget are passed on or withheld according
    /// to the policy's `on_exhausted`, and none of their calls is executed.
    unjudged_answers: Counters<UnjudgedReason> = "unjudged_answers_total" ["reason"];
    /// Faults found in answers that policy only records, by code of the fault table.
    advice: Counters<FaultCode> = "advice_total" ["code"];
    /// Repairs made to calls without a request to the model, by kind.
    repairs: Counters<RepairKind> = "repairs_total" ["kind"];
    /// Repairs that were only simulated in shadow mode, by kind.
    shadow_repairs: Counters<RepairKind> = "shadow_repairs_total" ["kind"];
    /// Rounds of feedback per evaluated turn, by kind.
    feedback_rounds: Histograms<FeedbackKind> = "feedback_rounds" ["kind"] in ROUNDS;
    /// Turns that reached a limit before their answer was right, by limit.
    feedback_exhausted: Counters<TurnLimit> = "feedback_exhausted_total" ["kind"];

    /// Calls that the proxy executed, by tool and outcome.
    tool_executions: NamedCounters<ExecutionOutcome> = "tool_executions_total" ["tool", "outcome"];
    /// Seconds of executing a call.
    tool_execution_duration: Histogram = "tool_execution_duration_seconds" in THEIR_TIME;
    /// Calls that await a person's approval.
    approvals_pending: IntGauge = "approvals_pending";
    /// Calls for which a person's approval was requested, by decision.
    approvals: Counters<Decision> = "approvals_total" ["decision"];
    /// Notifications of approvals to the webhook, by result.
    approval_webhooks: Counters<WebhookEnd> = "approval_webhooks_total" ["result"];
    /// Failed outcomes that were looked up in the documentation, by whether it has a relevant passage.
    explanations: Counters<bool> = "explanations_total" ["hit"];
    /// Turns with a plan of calls, by result.
    plans: Counters<PlanResult> = "plans_total" ["result"];
    /// User requests for which memory was searched, by kind of memory and whether anything was found and shown.
    recalls: Counters2<MemoryKind, bool> = "recalls_total" ["kind", "hit"];
    /// Lessons in use.
    lessons: IntGauge = "lessons";
    /// Procedures in use.
    procedures: IntGauge = "procedures";
    /// Lessons and procedures learned, by kind of evidence; one that is learned again is counted again.
    learned: Counters2<MemoryKind, EvidenceKind> = "learned_total" ["kind", "evidence"];
    /// Lessons and procedures that were retired because turns failed more often with them than without.
    retired: Counters<MemoryKind> = "retired_total" ["kind"];
    /// Runs of learning jobs, by result.
    learning_runs: Counters2<LearningJob, LearningRun> = "learning_runs_total" ["task", "result"];
    /// Seconds per run of a learning job that had work to do.
    learning_duration: Histogram = "learning_duration_seconds" in THEIR_TIME;
    /// Calls that failed because of a toolset's credential, by toolset and fault.
    credential_faults: NamedCounters<CredentialFault> = "credential_faults_total" ["toolset", "fault"];
    /// Calls of the proxy's tools that it did not send, by toolset and reason.
    calls_refused: NamedCounters<RefusalReason> = "calls_refused_total" ["toolset", "reason"];
    /// Schemas of tools with unusable parts, by whether the rest still validates values; each schema is counted once.
    schema_problems: Counters<bool> = "schema_problems_total" ["judges"];
    /// Tools offered to the model per turn.
    tools_offered: Histogram = "tools_offered" in TOOLS;
    /// Turns of a session whose tools do not begin with those sent earlier, so that a provider's prompt cache misses,
    /// by reason.
    tool_prefix_changes: Counters<PrefixChange> = "tool_prefix_changes_total" ["reason"];
    /// Tools of toolsets that are found by words only, because their vectors are not ready or failed.
    tools_without_vectors: IntGauge = "tools_without_vectors";
    /// Seconds of ranking tools for a text of a user or a model, including its embedding.
    retrieval_duration: Histogram = "retrieval_duration_seconds" in OWN_TIME;

    /// Estimated memory of a cache in bytes, by its content.
    cache_bytes: Gauges<CacheName> = "cache_bytes" ["cache"];
    /// Entries of a cache, by its content.
    cache_entries: Gauges<CacheName> = "cache_entries" ["cache"];
    /// CPU-bound tasks that wait for a core.
    work_waiting: IntGauge = "work_waiting";
    /// Turns rejected because the limit of tasks waiting for a core is reached.
    turns_shed: IntCounter = "turns_shed_total";

    /// OpenTelemetry spans of turns, by result; none if no collector is configured.
    spans: Counters<SpanEnd> = "spans_total" ["result"];
    /// Open connections, by listener and whether requests are in progress on them.
    connections: Gauges2<Listener, ConnectionState> = "connections" ["listener", "state"];
    /// Connections that were refused, by listener and reason: the limit of connections or of file descriptors.
    connections_refused: Counters2<Listener, ConnectionRefusal> = "connections_refused_total" ["listener", "reason"];
    /// Connections that the proxy closed, by listener and reason.
    connections_closed: Counters2<Listener, CloseReason> = "connections_closed_total" ["listener", "reason"];
    /// Errors of accepting connections, by listener.
    accept_errors: Counters<Listener> = "accept_errors_total" ["listener"];
    /// Memory reserved for request bodies, in bytes: eight times their size.
    request_body_bytes: IntGauge = "request_body_bytes";
    /// Request bodies that were refused because too many bytes of bodies were held in memory.
    request_bodies_refused: IntCounter = "request_bodies_refused_total";
    /// Bytes of answers held in memory, beyond 64 KiB per answer.
    answer_bytes: IntGauge = "answer_bytes";
    /// Answers that were refused or ended because too many bytes of answers were held in memory.
    answers_refused: IntCounter = "answers_refused_total";
    /// Requests rejected before routing, by listener and reason: a foreign host or origin, an unsafe path, a WebSocket.
    requests_refused: Counters2<Listener, RequestRefusal> = "requests_refused_total" ["listener", "reason"];
    /// Failed TLS handshakes, by listener and reason.
    tls_handshake_failures: Counters2<Listener, HandshakeFailure> = "tls_handshake_failures_total" ["listener", "reason"];
    /// Expiry of a listener's certificate as Unix time; the earliest of a chain.
    tls_certificate_expiry: IntGaugeVec = "tls_certificate_expiry_seconds" ["listener"];
    /// Reloads of changed certificates and keys, by result; after a failure the previous ones stay in use.
    tls_reloads: Counters<ResultLabel> = "tls_reloads_total" ["result"];

    /// Auxiliary stages that failed and were skipped, by stage.
    stage_degraded: Counters<Stage> = "stage_degraded_total" ["stage"];
    /// Reloads of the configuration file on SIGHUP, by result.
    config_reloads: Counters<ResultLabel> = "config_reloads_total" ["result"];
    /// Reloads of changed OpenAPI documents, by result; after a failure the previous ones stay in use.
    catalog_reloads: Counters<ResultLabel> = "catalog_reloads_total" ["result"];
    /// Reloads of the policies, by result; after a failure the previous ones stay in use.
    policy_reloads: Counters<ResultLabel> = "policy_reloads_total" ["result"];
    /// Reloads of the representation files, by result; after a failure the previous ones stay in use.
    representation_reloads: Counters<ResultLabel> = "representation_reloads_total" ["result"];
    /// Reloads of the file of confirmed and forbidden sources of arguments, by result; after a failure the previous
    /// ones stay in use.
    edges_reloads: Counters<ResultLabel> = "edges_reloads_total" ["result"];
    /// Operations of the documents in the catalog, by toolset and whether they are available as tools.
    catalog_operations: IntGaugeVec = "catalog_operations" ["toolset", "state"];
    /// Log lines that could not be written.
    log_lines_lost: IntCounter = "log_lines_lost_total";
    /// Restarts of background tasks after a panic.
    task_restarts: IntCounter = "task_restarts_total";
    /// Traces that were lost: the queue was full or the store did not accept them.
    traces_dropped: IntCounter = "traces_dropped_total";
    /// Traces waiting to be written.
    traces_waiting: IntGauge = "traces_waiting";
    /// Bytes of traces waiting on disk because the store does not accept them.
    traces_on_disk_bytes: IntGauge = "traces_on_disk_bytes";
    /// 1 if the store works, otherwise 0; a disabled store counts as working.
    store_up: IntGauge = "store_up";
    /// Always 1; the label is the running version.
    build_info: IntGaugeVec = "build_info" ["version"];
}

impl Metrics {
    /// Creates all metrics, with their own registry.
    pub fn new() -> Self {
        // Cannot fail at run time: names and labels are constants above, and every test creates an instance.
        let mut metrics = Self::register().expect("metric names are valid and unique");
        metrics.calls_judged.known = Arc::clone(&metrics.tools);
        metrics.tool_executions.known = Arc::clone(&metrics.tools);
        metrics.upstream_attempts.known = Arc::clone(&metrics.upstreams);
        let models = Arc::new(KnownModels::of(&metrics.upstreams));
        for counters in [&mut metrics.model_calls, &mut metrics.model_diagnoses, &mut metrics.rescued_calls] {
            counters.known = Arc::clone(&models);
        }
        metrics.native_call_share.known = Arc::clone(&models);
        metrics.credential_faults.known = Arc::clone(&metrics.toolsets);
        metrics.calls_refused.known = Arc::clone(&metrics.toolsets);
        metrics.key_requests.known = Arc::clone(&metrics.groups);
        metrics.key_tokens.known = Arc::clone(&metrics.groups);
        metrics.key_cost.known = Arc::clone(&metrics.groups);
        // The group of keys without a group.
        metrics.groups.add([""]);
        metrics.build_info.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        metrics.store_up.set(1);
        metrics
    }

    /// Registers tools, which then have their own series. A registered tool is never removed.
    pub fn known_tools<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        self.tools.add(names);
    }

    /// Registers a client's own tool that was called, up to [`MAX_CLIENT_TOOLS`]. It must be one that was offered,
    /// because a model may invent any name.
    pub(super) fn client_tool_called(&self, name: &str) {
        if self.tools.label(name) == OTHER && self.client_tools.learn(name, MAX_CLIENT_TOOLS) {
            self.tools.add([name]);
        }
    }

    /// Registers upstreams, which then have their own series.
    pub fn known_upstreams<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        self.upstreams.add(names);
    }

    /// Registers groups of keys, which then have their own series.
    pub fn known_groups<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        self.groups.add(names);
    }

    /// Replaces the numbers of the catalog: toolset, operations loaded, operations skipped. Registers the toolsets,
    /// which then have their own series.
    pub fn catalog<'a>(&self, toolsets: impl IntoIterator<Item = (&'a str, usize, usize)>) {
        self.catalog_operations.reset();
        for (toolset, loaded, skipped) in toolsets {
            self.toolsets.add([toolset]);
            let toolset = self.toolsets.label(toolset);
            for (state, count) in [(OperationState::Loaded, loaded), (OperationState::Skipped, skipped)] {
                // Toolsets beyond the limit share a series.
                self.catalog_operations.with_label_values(&[toolset, state.label()]).add(gauge_value(count));
            }
        }
    }

    /// Sets the current load of an upstream. The name is one of the configuration.
    pub fn upstream_load(&self, name: &str, in_flight: usize, queued: usize, circuit: CircuitState) {
        self.upstream_in_flight.with_label_values(&[name]).set(gauge_value(in_flight));
        self.upstream_queued.with_label_values(&[name]).set(gauge_value(queued));
        for state in CircuitState::ALL {
            self.upstream_circuit.with_label_values(&[name, state.label()]).set(i64::from(state == circuit));
        }
    }

    /// Sets the expiry of a listener's certificate, in seconds of Unix time.
    pub fn certificate_expires(&self, listener: Listener, at: i64) {
        self.tls_certificate_expiry.with_label_values(&[listener.label()]).set(at);
    }

    /// Counts a turn as running until the guard is dropped.
    pub fn turn_started(&self) -> InFlight {
        self.turns_in_flight.inc();
        InFlight(self.turns_in_flight.clone())
    }

    /// Counts tools as without vectors until the guard is dropped.
    pub fn without_vectors(&self, tools: usize) -> WithoutVectors {
        let tools = gauge_value(tools);
        self.tools_without_vectors.add(tools);
        WithoutVectors { gauge: self.tools_without_vectors.clone(), tools }
    }

    /// Returns all metrics in the Prometheus text format, version 0.0.4.
    pub fn render(&self) -> String {
        // The lines of a process are counted where they are written, because logging begins before there are metrics.
        self.log_lines_lost.inc_by(lost_lines().saturating_sub(self.log_lines_lost.get()));
        let restarts = tasks::restarted().iter().map(|(_, task)| task.restarts).sum::<u64>();
        self.task_restarts.inc_by(restarts.saturating_sub(self.task_restarts.get()));
        TextEncoder::new().encode_to_string(&self.registry.gather()).unwrap_or_default()
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

fn gauge_value(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Guard that counts tools without vectors.
#[derive(Debug)]
pub struct WithoutVectors {
    gauge: IntGauge,
    tools: i64,
}

impl Drop for WithoutVectors {
    fn drop(&mut self) {
        self.gauge.sub(self.tools);
    }
}

/// Guard that counts a running turn.
#[derive(Debug)]
pub struct InFlight(IntGauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callwright_common::limits::REMEMBERED;

    #[test]
    fn every_metric_is_rendered_with_its_doc_comment_as_help() {
        let metrics = Metrics::new();
        // A metric with a label that is not an enumeration has no series, and hence no help, before its first use.
        metrics.requests.inc(Endpoint::Models, 200);
        metrics.upstream_attempts.inc("main", AttemptOutcome::Success);
        metrics.calls_judged.inc("f", Verdict::Clean);
        metrics.known_upstreams(["main"]);
        metrics.model_calls.inc("main", "m", Verdict::Clean.label());
        metrics.model_diagnoses.inc("main", "m", FaultCode::NoCall.code());
        metrics.rescued_calls.inc("main", "m", "json");
        metrics.native_call_share.set("main", "m", 0.5);
        metrics.tool_executions.inc("f", ExecutionOutcome::Success);
        metrics.catalog([("crm", 3, 1)]);
        metrics.upstream_load("main", 2, 1, CircuitState::HalfOpen);
        metrics.credential_faults.inc("crm", CredentialFault::Refused);
        metrics.calls_refused.inc("crm", RefusalReason::NoServer);
        metrics.key_requests.inc("", KeyResult::Denied);
        metrics.key_tokens.add("team", TokenKind::Prompt, 5);
        metrics.key_cost.add("team", 0.25);
        metrics.certificate_expires(Listener::Operator, 4_102_444_800);
        let text = metrics.render();
        for (name, help) in HELP {
            let line = format!("# HELP callwright_{name} {}", help.trim());
            assert!(text.lines().any(|found| found == line), "missing: {line}");
            assert!(help.trim().ends_with('.'), "{name}: {help}");
        }
        assert_eq!(text.matches("# HELP ").count(), HELP.len());
        assert!(text.contains("callwright_catalog_operations{state=\"skipped\",toolset=\"crm\"} 1"), "{text}");
        assert!(text.contains("callwright_upstream_circuit{state=\"half_open\",upstream=\"main\"} 1"), "{text}");
        assert!(text.contains("callwright_upstream_circuit{state=\"closed\",upstream=\"main\"} 0"), "{text}");
    }

    #[test]
    fn random_tool_names_give_a_bounded_number_of_series() {
        let metrics = Metrics::new();
        metrics.known_tools(["get_weather"]);
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..100_000 {
            let name = format!("tool_{}", random.u64(..));
            metrics.calls_judged.inc(&name, Verdict::ALL[random.usize(..Verdict::ALL.len())]);
            metrics.tool_executions.inc(&name, ExecutionOutcome::ALL[random.usize(..ExecutionOutcome::ALL.len())]);
            metrics.upstream_attempts.inc(&name, AttemptOutcome::Success);
            metrics.key_requests.inc(&name, KeyResult::Admitted);
            metrics.key_cost.add(&name, 1.0);
        }
        metrics.calls_judged.inc("get_weather", Verdict::Clean);
        let text = metrics.render();
        let series = |name: &str| text.lines().filter(|line| line.starts_with(&format!("callwright_{name}{{"))).count();
        assert_eq!(series("calls_judged_total"), Verdict::ALL.len() + 1);
        assert_eq!(series("tool_executions_total"), ExecutionOutcome::ALL.len());
        assert_eq!(series("upstream_attempts_total"), 1);
        assert_eq!((series("key_requests_total"), series("key_cost_total")), (1, 1));
        assert!(text.contains("callwright_calls_judged_total{tool=\"get_weather\",verdict=\"clean\"} 1"));
    }

    #[test]
    fn invented_upstream_statuses_give_a_bounded_number_of_series() {
        let metrics = Metrics::new();
        for status in 0..=u16::MAX {
            metrics.requests.inc(Endpoint::ChatCompletions, status);
        }
        let text = metrics.render();
        assert_eq!(text.lines().filter(|line| line.starts_with("callwright_requests_total{")).count(), 501);
    }

    #[test]
    fn a_removed_toolset_is_no_longer_shown() {
        let metrics = Metrics::new();
        metrics.catalog([("old", 1, 0)]);
        metrics.catalog([("new", 2, 0)]);
        assert!(!metrics.render().contains("toolset=\"old\""));
    }

    #[test]
    fn no_label_has_a_name_that_prometheus_gives_to_what_it_scrapes() {
        for label in LABELS {
            assert!(!["job", "instance", "le", "quantile"].contains(label), "`{label}` would be renamed or clash");
        }
    }

    #[test]
    fn more_toolsets_than_are_told_apart_share_a_series() {
        let metrics = Metrics::new();
        let names: Vec<String> = (0..REMEMBERED + 5).map(|number| format!("toolset_{number}")).collect();
        metrics.catalog(names.iter().map(|name| (name.as_str(), 2, 1)));
        let text = metrics.render();
        let series = text.lines().filter(|line| line.starts_with("callwright_catalog_operations{")).count();
        assert_eq!(series, (REMEMBERED + 1) * OperationState::ALL.len());
        assert!(text.contains("callwright_catalog_operations{state=\"loaded\",toolset=\"other\"} 10"));
    }

    #[test]
    fn tools_are_without_vectors_until_their_guard_goes() {
        let metrics = Metrics::new();
        let (some, others) = (metrics.without_vectors(3), metrics.without_vectors(4));
        assert_eq!(metrics.tools_without_vectors.get(), 7);
        drop(some);
        assert_eq!(metrics.tools_without_vectors.get(), 4);
        drop(others);
        assert_eq!(metrics.tools_without_vectors.get(), 0);
    }

    #[test]
    fn a_turn_is_in_flight_until_its_guard_goes() {
        let metrics = Metrics::new();
        let turn = metrics.turn_started();
        assert_eq!(metrics.turns_in_flight.get(), 1);
        drop(turn);
        assert_eq!(metrics.turns_in_flight.get(), 0);
    }
}
