//! Memory: what applications say of turns.

use std::fmt;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Revision, StoreError};
use callwright_types::{EvidenceKind, Scope, Trace};

/// What an application says of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedbackRow {
    /// The turn's trace id.
    pub trace: String,
    /// Who says so. One source has one verdict on a turn: the latest.
    pub source: String,
    /// What it says.
    pub verdict: FeedbackVerdict,
    /// What would have been right, where it says so.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expected: Option<Value>,
    /// In words.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub comment: Option<String>,
    /// When it said so.
    pub at: Timestamp,
}

impl FeedbackRow {
    /// The source of verdicts by operators. A client's is its own scope ([`Scope::of_key`](callwright_types::Scope::of_key)).
    pub const OPERATOR: &'static str = "operator";

    /// What the verdict is evidence of for this turn: it counts where it is an operator's, or that of the client whose turn it was. `None`:
    /// it is somebody else's.
    pub fn counts_for(&self, trace: &Trace) -> Option<EvidenceKind> {
        match self.source.as_str() {
            Self::OPERATOR => Some(EvidenceKind::Operator),
            source => (source == Scope::of_key(&trace.tenant).as_str()).then_some(EvidenceKind::Feedback),
        }
    }
}

/// Was a turn right?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeedbackVerdict {
    /// It was.
    #[serde(rename = "good")]
    Right,
    /// It was not.
    #[serde(rename = "bad")]
    Wrong,
}

/// What giving a verdict did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// It is the source's first one on the turn, or another than before.
    New,
    /// It is what the source said before, or it said something else since: nothing changed.
    Repeated,
}

/// The verdicts of applications.
pub trait Feedback: Send + Sync + fmt::Debug {
    /// Keeps a verdict, in place of an earlier one of the same source on the same turn. It is on disk when this returns.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is kept then.
    fn give<'a>(&'a self, row: &'a FeedbackRow) -> BoxFuture<'a, Result<Given, StoreError>>;

    /// The verdicts that came after this revision, the oldest first: at most `limit` of them.
    ///
    /// # Errors
    /// [`StoreError`].
    fn given(&self, after: Revision, limit: u32) -> BoxFuture<'_, Result<GivenSince, StoreError>>;

    /// What was said of one turn.
    ///
    /// # Errors
    /// [`StoreError`].
    fn feedback_on<'a>(&'a self, trace: &'a str) -> BoxFuture<'a, Result<Vec<FeedbackRow>, StoreError>>;
}

/// Verdicts that came after a revision.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenSince {
    /// The oldest first, each with its revision.
    pub rows: Vec<(Revision, FeedbackRow)>,
    /// The revision of the last one; that of the question where there is none.
    pub upto: Revision,
}
