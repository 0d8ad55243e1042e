//! Turn state: calls that require approval by a person.
//!
//! An entry of the queue is pending until it is decided, expires or is withdrawn, and never becomes pending again. An
//! approval is used at most once. Entries that a turn waits for expire when the store is opened, because that turn has
//! ended.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::traces::time_or_age;
use super::{Store, StoreError};
use callwright_types::rules::ApprovalMode;
use callwright_types::{ApprovalNote, ApprovalStatus};

/// Request for a person's approval of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Whether the turn waits for the decision.
    pub mode: ApprovalMode,
    /// Maximum time to wait for the decision.
    pub patience: SignedDuration,
    /// Validity of a decision, from the time it is made.
    pub valid: SignedDuration,
    /// Tenant of the call: the hash of the client's key.
    pub tenant: String,
    /// Client name for display; not its key.
    pub client: String,
    /// Session id; the trace id for a turn without a session.
    pub session: String,
    /// Trace id of the turn.
    pub trace: String,
    /// Toolset of the operation.
    pub toolset: String,
    /// Name of the tool.
    pub tool: String,
    /// `POST /path/{template}`.
    pub operation: String,
    /// HTTP method.
    pub method: String,
    /// URL of the API request, without credentials.
    pub target: String,
    /// Arguments as JSON text.
    pub arguments: String,
    /// Hash that identifies the call: operation, target and arguments.
    pub digest: String,
    /// Whether target and arguments are kept after the entry is denied, used, expired or withdrawn.
    pub keep: bool,
}

/// Result of [`Store::request_approval`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueResult {
    /// A new entry.
    Queued(ApprovalNote),
    /// The existing entry for the same call by the same session of the same client.
    Existing(ApprovalNote),
    /// The maximum number of pending entries is reached.
    Full,
}

/// Result of [`Store::decide_approval`].
#[derive(Debug, Clone, PartialEq)]
pub enum DecisionResult {
    /// The decision is recorded.
    Now(Box<Approval>),
    /// An earlier decision exists and remains valid.
    Before(Box<Approval>),
    /// The entry has expired, or the waiting turn has ended.
    TooLate(Box<Approval>),
    /// No approval has this id.
    Unknown,
}

/// Result of [`Store::close_approval`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedApproval {
    /// Whether this call closed the entry, which was pending.
    pub now: bool,
    /// Current status of the entry.
    pub note: ApprovalNote,
}

/// Decision of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    /// Whether the call is approved.
    pub approved: bool,
    /// Name given by the person who decides.
    pub by: Option<String>,
    /// Comment of the person who decides.
    pub comment: Option<String>,
}

/// Full entry of the approval queue.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Approval {
    /// Fields that lists contain.
    #[serde(flatten)]
    pub summary: ApprovalSummary,
    /// Arguments; erased when the entry is denied, used, expired or withdrawn, unless policy records bodies.
    pub arguments: Option<Value>,
    /// Hash of operation, target and arguments: the exact call that is approved.
    pub digest: String,
    /// Time of execution, if executed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_at: Option<Timestamp>,
}

/// Entry of the approval queue in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ApprovalSummary {
    /// Id, status, and the decision if there is one.
    #[serde(flatten)]
    pub note: ApprovalNote,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Approval mode: whether a turn waits for the decision.
    pub mode: String,
    /// Client name for display; not its key.
    pub client: String,
    /// Session id; the trace id for a turn without a session.
    pub session: String,
    /// Trace id of the turn that made the call.
    pub trace: String,
    /// Toolset of the operation.
    pub toolset: String,
    /// Name of the tool.
    pub tool: String,
    /// `POST /path/{template}`.
    pub operation: String,
    /// HTTP method.
    pub method: String,
    /// URL of the API request, without credentials; erased together with the arguments.
    pub target: Option<String>,
}

/// Filter and page of a list of approvals.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ApprovalFilter {
    /// Only entries with this status.
    pub status: Option<ApprovalStatus>,
    /// Only entries that were created at this time or later.
    #[serde(deserialize_with = "time_or_age")]
    pub since: Option<Timestamp>,
    /// Only entries that were created before this time.
    #[serde(deserialize_with = "time_or_age")]
    pub until: Option<Timestamp>,
    /// Entries per page; default [`DEFAULT_PAGE`](super::DEFAULT_PAGE), at most [`MAX_PAGE`](super::MAX_PAGE).
    pub limit: Option<u32>,
    /// Only entries older than this id: `next` of the previous page.
    pub before: Option<String>,
}

/// One page of a list of approvals.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ApprovalPage {
    /// Entries, newest first.
    pub approvals: Vec<ApprovalSummary>,
    /// Value of `before` for the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl Store {
    /// Adds an entry if fewer than `most` entries are pending. Returns an existing entry for the same call instead, if
    /// one is still valid: an approved unused one, or, if no turn waits, a pending or denied one. The entry is on disk
    /// when this returns.
    ///
    /// # Errors
    /// [`StoreError`] if the commit failed: the call must not be executed.
    pub async fn request_approval(&self, question: &Question, most: u32) -> Result<QueueResult, StoreError> {
        self.record_health(self.database()?.request_approval(question, most, self.owner()).await)
    }

    /// Decides a pending entry. The first decision is final.
    ///
    /// # Errors
    /// [`StoreError`]; no decision is recorded then.
    pub async fn decide_approval(&self, id: &str, ruling: &Ruling) -> Result<DecisionResult, StoreError> {
        self.record_health(self.database()?.decide(id, ruling).await)
    }

    /// Closes a pending entry without a decision, as expired or withdrawn, and returns its current status. An earlier
    /// decision remains valid. Returns `None` if no entry has this id.
    pub async fn close_approval(&self, id: &str, status: ApprovalStatus) -> Result<Option<ClosedApproval>, StoreError> {
        self.record_health(self.database()?.close_approval(id, status).await)
    }

    /// Consumes an approval of the call with this digest. Returns `true` once, and only if it is approved; the use is
    /// on disk then.
    ///
    /// # Errors
    /// [`StoreError`] if the commit failed: the call must not be executed.
    pub async fn use_approval(&self, id: &str, digest: &str) -> Result<bool, StoreError> {
        self.record_health(self.database()?.use_up(id, digest).await)
    }

    /// Returns the status of an entry; `None` if no entry has this id.
    pub async fn approval_note(&self, id: &str) -> Result<Option<ApprovalNote>, StoreError> {
        self.database()?.approval_note(id).await
    }

    /// Returns a full entry; `None` if no entry has this id.
    pub async fn approval(&self, id: &str) -> Result<Option<Approval>, StoreError> {
        self.database()?.approval(id).await
    }

    /// Returns a page of entries, newest first.
    pub async fn approvals(&self, filter: &ApprovalFilter) -> Result<ApprovalPage, StoreError> {
        self.database()?.approvals(filter).await
    }

    /// Returns the number of pending entries.
    pub async fn pending_approvals(&self) -> Result<u64, StoreError> {
        self.database()?.pending().await
    }

    /// Expires at most `limit` overdue pending entries, and at most `limit` overdue unused approvals. Returns the
    /// number of expired pending entries.
    pub async fn expire_approvals(&self, limit: u32) -> Result<u64, StoreError> {
        self.record_health(self.database()?.expire_due(limit, self.owner()).await)
    }
}
