//! A trace made ready to be stored: what is looked for in columns, and the whole as one JSON document.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::StoreError;
use callwright_types::{MemoryNote, Trace};

/// A trace made ready to be stored. Made where the turn ends, so that the queue's memory is known in bytes and the one
/// writer does not serialise for everyone. Its texts are shared with the statement that writes them.
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
    /// Does it tell of memory, so that something can be learned from it?
    pub(super) teaches: bool,
    /// The whole trace as JSON text, on one line.
    #[serde(skip)]
    pub(super) document: Arc<str>,
}

impl TraceRow {
    /// Serialises a trace.
    ///
    /// # Errors
    /// [`StoreError::Refused`] where the trace has no JSON form.
    pub fn new(trace: Trace) -> Result<Self, StoreError> {
        let document = serde_json::to_string(&trace).map_err(|error| StoreError::Refused(error.to_string()))?;
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

    /// Memory that the row takes, in bytes, near enough to bound a queue by it.
    pub fn weight(&self) -> usize {
        size_of::<Self>() + self.document.len() + self.tools.iter().map(|tool| tool.len()).sum::<usize>()
    }
}

fn tools(trace: &Trace) -> BTreeSet<Arc<str>> {
    let called = trace.attempts.iter().flat_map(|attempt| &attempt.calls);
    let executed = trace.executions.iter().map(|execution| &execution.call);
    called.chain(executed).map(|call| call.name.as_str().into()).collect()
}
