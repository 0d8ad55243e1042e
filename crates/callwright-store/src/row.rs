//! Trace prepared for storage: columns for search, and the whole trace as one JSON document.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::StoreError;
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
    /// The whole trace as JSON text, on one line.
    #[serde(skip)]
    pub(super) document: Arc<str>,
}

impl TraceRow {
    /// Serialises a trace.
    ///
    /// # Errors
    /// [`StoreError::Refused`] if the trace cannot be serialised.
    pub fn new(trace: Trace) -> Result<Self, StoreError> {
        let document = serde_json::to_string(&trace)?;
        Ok(Self {
            tools: tools(&trace),
            teaches: trace.memory.as_ref().is_some_and(MemoryNote::teaches),
            id: trace.id.into(),
            started_at: trace.started_at.as_millisecond(),
            session: trace.session.map(Into::into),
            tenant: trace.tenant.into(),
            endpoint: trace.endpoint.into(),
            model: trace.model.into(),
            upstream: trace.upstream.into(),
            policy: trace.policy.into(),
            mode: trace.mode.into(),
            verdict: trace.verdict.label().into(),
            status: trace.status,
            duration_ms: trace.duration_ms,
            document: document.into(),
        })
    }

    /// Returns the approximate memory size in bytes, which bounds the queue.
    pub fn weight(&self) -> usize {
        size_of::<Self>() + self.document.len() + self.tools.iter().map(|tool| tool.len()).sum::<usize>()
    }
}

fn tools(trace: &Trace) -> BTreeSet<Arc<str>> {
    let called = trace.attempts.iter().flat_map(|attempt| &attempt.calls);
    let executed = trace.executions.iter().map(|execution| &execution.call);
    called.chain(executed).map(|call| call.name.as_str().into()).collect()
}
