//! The state of one turn: one client request, from its arrival to the answer.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tokio_util::sync::CancellationToken;

use crate::keys::RequestPermit;
use callwright_policy::Policy;
use callwright_telemetry::{InFlight, SpanContext, TRACEPARENT};
use callwright_types::rules::{Evidence, Mode};
use callwright_types::{TurnAction, TurnActions};
use callwright_upstream::Upstream;
use callwright_wire::{ModelRequest, ToolChoice};

use super::record::{TurnRecord, milliseconds};
use super::run_results::CallStates;
use super::stream_progress::StreamProgress;
use crate::pipeline::answer_memory::AnswerMemory;
use crate::pipeline::dialogue::TurnSpending;
use crate::pipeline::snapshot::{RecallMemory, Tooling};

/// Trace id of the turn.
pub(crate) const TRACE_HEADER: HeaderName = HeaderName::from_static("x-callwright-trace");
/// Verdict on the answer.
const VERDICT_HEADER: HeaderName = HeaderName::from_static("x-callwright-verdict");
/// Kind of answer that the client got.
const OUTCOME_HEADER: HeaderName = HeaderName::from_static("x-callwright-outcome");
/// Actions of the proxy on the model's answer.
const ACTIONS_HEADER: HeaderName = HeaderName::from_static("x-callwright-actions");
/// Number of upstream requests.
const ATTEMPTS_HEADER: HeaderName = HeaderName::from_static("x-callwright-attempts");
/// Overhead of the proxy: time without the upstream's and tool APIs'.
const OVERHEAD_HEADER: HeaderName = HeaderName::from_static("x-callwright-overhead-ms");

/// State of a turn from its start to its end.
#[derive(Debug)]
pub(crate) struct Turn {
    /// The client's request, unchanged.
    pub(crate) request: ModelRequest,
    /// Query of the client's URL.
    pub(crate) query: Option<String>,
    /// Header fields of the client's request.
    pub(crate) headers: HeaderMap,
    /// Catalog and documentation at the start of the turn.
    pub(crate) tooling: Arc<Tooling>,
    /// Lessons and procedures at the start of the turn.
    pub(crate) learned: Arc<RecallMemory>,
    /// The policy in effect.
    pub(crate) policy: Arc<Policy>,
    pub(crate) upstream: Arc<Upstream>,
    /// The model's name at that upstream.
    pub(crate) model: String,
    /// Failover upstreams with the model's names there, best first.
    pub(crate) fallbacks: VecDeque<(Arc<Upstream>, String)>,
    /// Toolsets that the alias offers.
    pub(crate) toolsets: Vec<String>,
    /// Whether the client requested debug information.
    pub(crate) debug: bool,
    /// Maximum bytes of the content of a streamed answer that are kept.
    pub(crate) max_stream_bytes: usize,
    /// The state of the calls that the proxy executed.
    pub(crate) call_states: CallStates,
    /// The trace so far. Boxed: it is more than half of the turn, and outlives it.
    pub(crate) record: Box<TurnRecord>,
    /// Cancelled when the client disconnects; nothing new starts then.
    pub(crate) cancelled: CancellationToken,
    /// Status of the upstream's answer that the client gets.
    pub(crate) answer_status: StatusCode,
    /// Header fields of the upstream's answer that the client gets.
    pub(crate) answer_headers: HeaderMap,
    /// The memory that the answer holds.
    pub(crate) memory: AnswerMemory,
    /// The part of a stream that the client already has.
    pub(crate) streamed: StreamProgress,
    /// The turn's OpenTelemetry span, if spans are enabled.
    pub(crate) span: Option<SpanContext>,
    /// Counts the turn as in flight.
    pub(crate) in_flight: InFlight,
    /// Permit under the limits of the virtual key; `None` if the proxy does not manage keys.
    pub(crate) request_permit: Option<RequestPermit>,
}

impl Turn {
    /// Whether feedback rounds are impossible (`n > 1`, a `conversation` of the provider, or not in `guard` mode).
    /// Several choices have no single conversation to continue, a feedback round would stay in the provider's
    /// conversation, and outside of `guard` nothing is changed.
    pub(crate) fn is_single(&self) -> bool {
        self.policy.mode != Mode::Guard || self.request.choice_count() > 1 || self.request.has_provider_conversation()
    }

    /// Returns the owner of the turn: the id of the virtual key, or the hash of the client's own key.
    pub(crate) fn tenant(&self) -> &str {
        &self.record.trace.tenant
    }

    /// Returns the client's header fields for the next attempt, with the `traceparent` of its span.
    pub(crate) fn headers_of_attempt(&self) -> Cow<'_, HeaderMap> {
        let Some(span) = &self.span else { return Cow::Borrowed(&self.headers) };
        let mut headers = self.headers.clone();
        headers.insert(TRACEPARENT, span.header_of_attempt(self.record.trace.attempts.len()));
        Cow::Owned(headers)
    }

    /// Switches the turn to the next failover upstream. Returns whether there was one.
    pub(crate) fn fall_back(&mut self) -> bool {
        let Some((upstream, model)) = self.fallbacks.pop_front() else { return false };
        upstream.name().clone_into(&mut self.record.trace.upstream);
        (self.upstream, self.model) = (upstream, model);
        true
    }

    /// Returns the time after which nothing new starts.
    pub(crate) fn time_left(&self) -> Duration {
        Duration::from_secs(self.policy.limits.seconds).saturating_sub(self.record.elapsed())
    }

    /// Returns the time after which upstream requests in flight are aborted; `None` without a limit.
    pub(crate) fn total_time_left(&self) -> Option<Duration> {
        let limit = Some(self.policy.limits.total_seconds).filter(|seconds| *seconds > 0)?;
        Some(Duration::from_secs(limit).saturating_sub(self.record.elapsed()))
    }

    /// Returns the resources that the turn has used so far.
    pub(crate) fn spent(&self) -> TurnSpending {
        TurnSpending { tokens: self.record.trace.usage.total_tokens, seconds: self.record.elapsed().as_secs() }
    }

    /// Returns the evidence that policy requires for treating a text as a call, depending on the request.
    pub(crate) fn evidence(&self, request: &ModelRequest) -> Evidence {
        let rescue = &self.policy.repair.rescue;
        match request.tool_choice() {
            ToolChoice::None => Evidence::Off,
            // The client would return a result of a call that the provider does not have.
            _ if request.is_threaded() => Evidence::Off,
            _ if self.upstream.delivers_calls(&self.model) => rescue.native,
            _ => rescue.text,
        }
    }

    /// Returns the header fields of a complete answer.
    pub(crate) fn answer_headers(&self) -> HeaderMap {
        let trace = &self.record.trace;
        let mut headers = self.stream_headers();
        headers.insert(VERDICT_HEADER, HeaderValue::from_static(trace.verdict.label()));
        if let Some(outcome) = trace.outcome {
            headers.insert(OUTCOME_HEADER, HeaderValue::from_static(outcome.label()));
            headers.insert(ACTIONS_HEADER, actions_value(trace.actions));
        }
        headers.insert(ATTEMPTS_HEADER, HeaderValue::from(trace.attempts.len()));
        let overhead = HeaderValue::from_str(&format!("{:.3}", milliseconds(self.record.overhead())));
        if let Ok(overhead) = overhead {
            headers.insert(OVERHEAD_HEADER, overhead);
        }
        headers
    }

    /// Returns the header fields of a stream. Its head is sent before the verdict is known.
    pub(crate) fn stream_headers(&self) -> HeaderMap {
        let mut headers = self.answer_headers.clone();
        if let Ok(id) = HeaderValue::from_str(&self.record.trace.id) {
            headers.insert(TRACE_HEADER, id);
        }
        headers
    }
}

fn actions_value(actions: TurnActions) -> HeaderValue {
    match actions.text() {
        Cow::Borrowed(text) => HeaderValue::from_static(text),
        Cow::Owned(text) => {
            HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(TurnAction::Nothing.label()))
        }
    }
}
