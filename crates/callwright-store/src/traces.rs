//! Memory: stored traces of turns.

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::findings::{Finding, FindingFilter};
use super::{Revision, StoreError, TraceRow};
use callwright_types::rules::Mode;
use callwright_types::{Trace, Verdict};

/// Stored traces.
pub trait Traces: Send + Sync {
    /// Writes a batch in one transaction. A trace whose id is already stored is skipped.
    ///
    /// # Errors
    /// [`StoreError`]; none of the batch is stored then.
    fn append<'a>(&'a self, batch: &'a [TraceRow]) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns a page of traces, newest first.
    ///
    /// # Errors
    /// [`StoreError`], including [`StoreError::BadCursor`].
    fn list<'a>(&'a self, filter: &'a TraceFilter) -> BoxFuture<'a, Result<TracePage, StoreError>>;

    /// Returns a full trace; `None` if no trace has this id.
    ///
    /// # Errors
    /// [`StoreError`].
    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Trace>, StoreError>>;

    /// Returns at most `limit` traces to learn from after this revision, in the order of writing.
    ///
    /// # Errors
    /// [`StoreError`].
    fn taught(&self, after: Revision, limit: u32) -> BoxFuture<'_, Result<Taught, StoreError>>;

    /// Removes at most `limit` expired rows of each kind and returns the number of removed rows.
    ///
    /// # Errors
    /// [`StoreError`].
    fn expire(&self, ages: Ages, limit: u32) -> BoxFuture<'_, Result<u64, StoreError>>;
}

/// Traces to learn from.
#[derive(Debug, Clone)]
pub struct Taught {
    /// Traces with their revisions, in the order of writing.
    pub traces: Vec<(Revision, Trace)>,
    /// Revision of the last examined trace, where the next query continues; the requested revision if there is none.
    pub upto: Revision,
}

/// Age limits of stored rows; `None` keeps that kind for ever.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ages {
    /// Limit for traces, vectors, feedback, records of removed lessons and procedures, key usage of past months,
    /// intents with a known outcome, and closed approvals.
    pub before: Option<Timestamp>,
    /// Limit for intents with an unknown outcome: the call of a kept intent is not sent again.
    pub unknown_before: Option<Timestamp>,
}

/// Maximum number of traces per page: a page is held in memory.
pub const MAX_PAGE: u32 = 1_000;

/// Maximum number of traces that a text search reads per page.
pub const MAX_EXAMINED: u32 = 2_000;

/// Default number of traces per page.
pub const DEFAULT_PAGE: u32 = 100;

/// Filter and page of a list. A trace must match all given members.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TraceFilter {
    /// Verdict.
    pub verdict: Option<Verdict>,
    /// Model name, as sent by the client.
    pub model: Option<String>,
    /// Session id.
    pub session: Option<String>,
    /// Policy name.
    pub policy: Option<String>,
    /// Mode.
    pub mode: Option<Mode>,
    /// Id of the virtual key of the request, or hash of the client's own key (the trace's `tenant`).
    pub key: Option<String>,
    /// Status of the response to the client.
    pub status: Option<u16>,
    /// Name of a tool that the model called or the proxy executed.
    pub tool: Option<String>,
    /// A finding of the turn.
    pub finding: Option<FindingFilter>,
    /// Text that the recorded conversation, its calls or its messages contain, regardless of case. At most
    /// [`MAX_EXAMINED`] traces are read per page, which then may have fewer traces and a `next`.
    pub text: Option<String>,
    /// Arrival at this time or later.
    pub since: Option<Timestamp>,
    /// Arrival before this time.
    pub until: Option<Timestamp>,
    /// Traces per page; default [`DEFAULT_PAGE`], at most [`MAX_PAGE`].
    pub limit: Option<u32>,
    /// Value of `next` of the previous page.
    pub cursor: Option<String>,
}

/// One page of a list.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TracePage {
    /// Traces, newest first.
    pub traces: Vec<TraceSummary>,
    /// Cursor of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Number of traces that a text search has read for this page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub examined: Option<u32>,
}

/// Trace in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceSummary {
    /// Trace id.
    pub id: String,
    /// Arrival of the request, to the millisecond.
    pub started_at: Timestamp,
    /// Session id, if the turn has a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Route template.
    pub endpoint: String,
    /// Model name, as sent by the client.
    pub model: String,
    /// Name of the upstream.
    pub upstream: String,
    /// Name of the policy.
    pub policy: String,
    /// `guard`, `shadow` or `off`.
    pub mode: String,
    /// Verdict on the answer.
    pub verdict: String,
    /// Status of the response to the client.
    pub status: u16,
    /// Total duration in milliseconds.
    pub duration_ms: f64,
    /// Number of requests to models.
    pub attempts: u32,
    /// Prompt tokens over all attempts.
    pub input_tokens: u64,
    /// Completion tokens over all attempts.
    pub output_tokens: u64,
    /// Cost in the currency of the price table, if the models have prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Names of the tools that were called or executed.
    pub tools: Vec<String>,
    /// Faults, failures and refusals.
    pub findings: Vec<Finding>,
    /// Beginning of the user's last message, if bodies are recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
}
