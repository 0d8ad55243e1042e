//! Memory: the stored records of turns.

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Revision, StoreError, TraceRow};
use callwright_types::rules::Mode;
use callwright_types::{Trace, Verdict};

/// The stored traces.
pub trait Traces: Send + Sync {
    /// Writes a batch in one transaction. A trace whose id is already stored is left as it is.
    ///
    /// # Errors
    /// [`StoreError`]; nothing of the batch is stored then.
    fn append<'a>(&'a self, batch: &'a [TraceRow]) -> BoxFuture<'a, Result<(), StoreError>>;

    /// A page of traces, newest first.
    ///
    /// # Errors
    /// [`StoreError`], [`StoreError::BadCursor`] among them.
    fn list<'a>(&'a self, filter: &'a TraceFilter) -> BoxFuture<'a, Result<TracePage, StoreError>>;

    /// One trace, whole; `None` where there is none of that id.
    ///
    /// # Errors
    /// [`StoreError`].
    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Trace>, StoreError>>;

    /// The oldest traces after this revision that something can be learned from, at most `limit` of them, in the order in which they were
    /// written.
    ///
    /// # Errors
    /// [`StoreError`].
    fn taught(&self, after: Revision, limit: u32) -> BoxFuture<'_, Result<Taught, StoreError>>;

    /// Removes at most `limit` rows of each kind that are too old; says how many rows went.
    ///
    /// # Errors
    /// [`StoreError`].
    fn expire(&self, ages: Ages, limit: u32) -> BoxFuture<'_, Result<u64, StoreError>>;
}

/// Traces that something can be learned from.
#[derive(Debug, Clone)]
pub struct Taught {
    /// In the order in which they were written, each with its revision.
    pub traces: Vec<(Revision, Trace)>,
    /// The revision of the last one that was looked at: what comes after it has not been. That of the question where there is no more.
    pub upto: Revision,
}

/// What is too old to be kept; `None` keeps that kind for ever.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ages {
    /// Traces, vectors, verdicts, what tells of removed lessons and procedures, what keys used in months that are over, intents whose outcome is known, and approvals that have come to an end, from before this time.
    pub before: Option<Timestamp>,
    /// Intents whose outcome is unknown, from before this time: as long as one is kept its call is not sent again.
    pub unknown_before: Option<Timestamp>,
}

/// Most traces of one page: a page is held in memory.
pub const MAX_PAGE: u32 = 1_000;

/// Traces of one page, unless the filter says otherwise.
pub const DEFAULT_PAGE: u32 = 100;

/// Which traces a list holds: those for which everything that is given holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TraceFilter {
    /// This verdict.
    pub verdict: Option<Verdict>,
    /// This model name, as the client sent it.
    pub model: Option<String>,
    /// This session.
    pub session: Option<String>,
    /// This policy.
    pub policy: Option<String>,
    /// This mode.
    pub mode: Option<Mode>,
    /// Asked with this virtual key, by its id; or by this client, by the hash of its own key that traces call `tenant`.
    pub key: Option<String>,
    /// This status of the answer to the client.
    pub status: Option<u16>,
    /// The model called, or the proxy executed, a tool of this name.
    pub tool: Option<String>,
    /// Arrived at this time or later.
    pub since: Option<Timestamp>,
    /// Arrived before this time.
    pub until: Option<Timestamp>,
    /// Traces per page; none means [`DEFAULT_PAGE`], more than [`MAX_PAGE`] means that.
    pub limit: Option<u32>,
    /// `next` of the page before.
    pub cursor: Option<String>,
}

/// One page of a list.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TracePage {
    /// Newest first.
    pub traces: Vec<TraceSummary>,
    /// Cursor of the next page, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// What a list shows of a trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceSummary {
    /// The trace's id.
    pub id: String,
    /// When the request arrived, to the millisecond.
    pub started_at: Timestamp,
    /// The session, where the turn belongs to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Route template.
    pub endpoint: String,
    /// The model name as the client sent it.
    pub model: String,
    /// Name of the upstream.
    pub upstream: String,
    /// Name of the policy.
    pub policy: String,
    /// `guard`, `shadow` or `off`.
    pub mode: String,
    /// Verdict on the answer.
    pub verdict: String,
    /// Status of the answer to the client.
    pub status: u16,
    /// Whole time in milliseconds.
    pub duration_ms: f64,
}
