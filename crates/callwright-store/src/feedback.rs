//! Memory: feedback of applications on turns.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Revision, Store, StoreError};
use callwright_types::{EvidenceKind, Scope, Trace};

/// Feedback of an application on a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedbackRow {
    /// Trace id of the turn.
    pub trace: String,
    /// Source of the verdict. The latest verdict of a source on a turn replaces earlier ones.
    pub source: String,
    /// Verdict on the turn.
    pub verdict: FeedbackVerdict,
    /// Expected result, if given.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expected: Option<Value>,
    /// Free-text comment.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub comment: Option<String>,
    /// Time of the verdict.
    pub at: Timestamp,
}

impl FeedbackRow {
    /// Source of verdicts by operators. The source of a client is its own scope
    /// ([`Scope::of_key`](callwright_types::Scope::of_key)).
    pub const OPERATOR: &'static str = "operator";

    /// Returns the kind of evidence that the verdict is for this turn. A verdict counts if it comes from an operator or
    /// from the client of the turn; otherwise returns `None`.
    pub fn counts_for(&self, trace: &Trace) -> Option<EvidenceKind> {
        match self.source.as_str() {
            Self::OPERATOR => Some(EvidenceKind::Operator),
            source => (source == Scope::of_key(&trace.tenant).as_str()).then_some(EvidenceKind::Feedback),
        }
    }
}

/// Verdict on a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeedbackVerdict {
    /// The turn was right.
    #[serde(rename = "good")]
    Right,
    /// The turn was wrong.
    #[serde(rename = "bad")]
    Wrong,
}

/// Result of [`Store::give_feedback`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedbackResult {
    /// The source's first verdict on the turn, or a different one than before.
    New,
    /// Repeats the source's verdict, or is older than it: nothing changed.
    Repeated,
}

impl Store {
    /// Stores a verdict and replaces an earlier one of the same source on the same turn. It is on disk when this
    /// returns.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is stored then.
    pub async fn give_feedback(&self, row: &FeedbackRow) -> Result<FeedbackResult, StoreError> {
        self.notify_change(self.record_health(self.database()?.give(row).await))
    }

    /// Returns at most `limit` verdicts after this revision, oldest first.
    pub async fn feedback_since(&self, after: Revision, limit: u32) -> Result<FeedbackPage, StoreError> {
        self.database()?.given(after, limit).await
    }

    /// Returns the verdicts on a turn.
    pub async fn feedback_on(&self, trace: &str) -> Result<Vec<FeedbackRow>, StoreError> {
        self.database()?.feedback_on(trace).await
    }
}

/// Verdicts after a revision.
#[derive(Debug, Clone, PartialEq)]
pub struct FeedbackPage {
    /// Verdicts with their revisions, oldest first.
    pub rows: Vec<(Revision, FeedbackRow)>,
    /// Revision of the last verdict; the requested revision if there is none.
    pub upto: Revision,
}
