//! Trace prepared for storage: columns for search, and the whole trace as one JSON document.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::StoreError;
use super::findings::{Finding, findings, repaired_names};
use super::question::question;
use callwright_types::{MemoryNote, Trace};

/// Trace prepared for storage. Created where the turn ends, so that the size of the queue is known in bytes and the
/// single writer does not serialise. Its texts are shared with the statement that writes them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TraceRow {
    pub(super) id: Arc<str>,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub(super) started_at: i64,
    pub(super) session: Option<Arc<str>>,
    pub(super) tenant: Arc<str>,
    pub(super) endpoint: Arc<str>,
    pub(super) model: Arc<str>,
    pub(super) upstream: Arc<str>,
    pub(super) policy: Arc<str>,
    pub(super) mode: Arc<str>,
    pub(super) verdict: Arc<str>,
    pub(super) status: u16,
    pub(super) duration_ms: f64,
    /// Names of the tools that were called or executed.
    pub(super) tools: BTreeSet<Arc<str>>,
    /// Whether the trace has memory notes to learn from.
    pub(super) teaches: bool,
    /// Figures of the turn; absent in rows that an earlier version spilled.
    #[serde(default)]
    pub(super) figures: Figures,
    /// Faults, failures, refusals and repairs.
    #[serde(default)]
    pub(super) findings: BTreeSet<Finding>,
    /// Beginning of the user's last message, if bodies are recorded.
    #[serde(default)]
    pub(super) question: Option<Arc<str>>,
    /// The whole trace as JSON text, on one line.
    #[serde(skip)]
    pub(super) document: Arc<str>,
}

/// Figures of a turn that the overview adds up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Figures {
    pub(super) attempts: u32,
    pub(super) overhead_ms: f64,
    /// Sum of the durations of the requests to models.
    pub(super) upstream_ms: f64,
    pub(super) input_tokens: i64,
    pub(super) output_tokens: i64,
    /// Cost in billionths of the currency; `None` without a price.
    pub(super) cost_nanos: Option<i64>,
}

impl Figures {
    fn new(trace: &Trace) -> Self {
        Self {
            attempts: u32::try_from(trace.attempts.len()).unwrap_or(u32::MAX),
            overhead_ms: trace.overhead_ms,
            upstream_ms: trace.attempts.iter().map(|attempt| attempt.duration_ms).sum(),
            input_tokens: tokens(trace.usage.prompt_tokens),
            output_tokens: tokens(trace.usage.completion_tokens),
            // The cast saturates.
            cost_nanos: trace.cost.map(|cost| (cost * 1e9).round() as i64),
        }
    }
}

/// Maximum number of tokens of a turn: the sum over all turns of an overview stays within 64 bits. Upstreams report the
/// number.
const MAX_TOKENS: u64 = 1 << 40;

fn tokens(count: u64) -> i64 {
    count.min(MAX_TOKENS).cast_signed()
}

impl TraceRow {
    /// Serialises a trace.
    ///
    /// # Errors
    /// [`StoreError::Refused`] if the trace cannot be serialised.
    pub fn new(trace: &Trace) -> Result<Self, StoreError> {
        let document = serde_json::to_string(trace)?;
        Ok(Self {
            tools: tools(trace),
            figures: Figures::new(trace),
            findings: findings(trace),
            question: trace.request.as_ref().and_then(question),
            teaches: trace.memory.as_ref().is_some_and(MemoryNote::teaches),
            id: trace.id.as_str().into(),
            started_at: trace.started_at.as_millisecond(),
            session: trace.session.as_deref().map(Into::into),
            tenant: trace.tenant.as_str().into(),
            endpoint: trace.endpoint.as_str().into(),
            model: trace.model.as_str().into(),
            upstream: trace.upstream.as_str().into(),
            policy: trace.policy.as_str().into(),
            mode: trace.mode.label().into(),
            verdict: trace.verdict.label().into(),
            status: trace.status,
            duration_ms: trace.duration_ms,
            document: document.into(),
        })
    }

    /// Returns the approximate memory size in bytes, which bounds the queue.
    pub fn weight(&self) -> usize {
        let findings =
            self.findings.iter().map(|one| size_of::<Finding>() + one.name.len() + one.tool.len()).sum::<usize>();
        let question = self.question.as_ref().map_or(0, |question| question.len());
        size_of::<Self>()
            + self.document.len()
            + self.tools.iter().map(|tool| tool.len()).sum::<usize>()
            + findings
            + question
    }
}

fn tools(trace: &Trace) -> BTreeSet<Arc<str>> {
    let called = trace.attempts.iter().flat_map(|attempt| &attempt.calls);
    let executed = trace.executions.iter().map(|execution| &execution.call);
    let named = called.chain(executed).map(|call| call.name.as_str());
    named.chain(repaired_names(trace)).map(Into::into).collect()
}
