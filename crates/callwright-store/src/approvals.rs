//! Turn state: the calls that a person has to approve.

use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::StoreError;
use callwright_types::rules::ApprovalMode;
use callwright_types::{ApprovalNote, ApprovalStatus};

/// A question to a person: may this call be executed?
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Does the turn wait for the decision?
    pub mode: ApprovalMode,
    /// How long the decision is waited for.
    pub patience: SignedDuration,
    /// How long a decision holds from then on.
    pub valid: SignedDuration,
    /// Whose call it is: the hash of the client's key.
    pub tenant: String,
    /// The client as people tell it from others; not its key.
    pub client: String,
    /// The session; for a turn that belongs to none, its trace id.
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
    /// The URL as it would be sent, without credentials.
    pub target: String,
    /// The arguments as JSON text.
    pub arguments: String,
    /// Hash of all that makes it this very call: operation, target and arguments.
    pub digest: String,
    /// Are target and arguments kept when nothing depends on them any more?
    pub keep: bool,
}

/// What asking gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// A new entry of the queue, or the one that there is: of this very call, by the same session of the same client.
    Queued(ApprovalNote),
    /// As many as are allowed are pending already.
    Full,
}

/// What deciding gave.
#[derive(Debug, Clone, PartialEq)]
pub enum Decided {
    /// It is decided now.
    Now(Box<Approval>),
    /// It was decided before: that stands.
    Before(Box<Approval>),
    /// It is too late: it has expired, or the turn that waited has ended.
    TooLate(Box<Approval>),
    /// There is no such approval.
    Unknown,
}

/// What closing gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// Was it pending till now?
    pub now: bool,
    /// How it stands.
    pub note: ApprovalNote,
}

/// A person's decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    /// Approved, or denied?
    pub approved: bool,
    /// Who decides, as they say.
    pub by: Option<String>,
    /// What they say about it.
    pub comment: Option<String>,
}

/// An entry of the queue, whole.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Approval {
    /// What lists show.
    #[serde(flatten)]
    pub summary: ApprovalSummary,
    /// The arguments; erased once nothing depends on them, unless policy records bodies.
    pub arguments: Option<Value>,
    /// Hash of operation, target and arguments: what exactly is approved.
    pub digest: String,
    /// When it was executed, where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_at: Option<Timestamp>,
}

/// What a list shows of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ApprovalSummary {
    /// Id, status, and the decision where there is one.
    #[serde(flatten)]
    pub note: ApprovalNote,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// Does a turn wait for it?
    pub mode: String,
    /// The client as people tell it from others; not its key.
    pub client: String,
    /// The session; for a turn that belongs to none, its trace id.
    pub session: String,
    /// Trace id of the turn that asked.
    pub trace: String,
    /// Toolset of the operation.
    pub toolset: String,
    /// Name of the tool.
    pub tool: String,
    /// `POST /path/{template}`.
    pub operation: String,
    /// HTTP method.
    pub method: String,
    /// The URL as it would be sent, without credentials; erased as the arguments are.
    pub target: Option<String>,
}

/// Which entries a list holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ApprovalFilter {
    /// This status.
    pub status: Option<ApprovalStatus>,
    /// Entries per page; none means [`DEFAULT_PAGE`](super::DEFAULT_PAGE), more than [`MAX_PAGE`](super::MAX_PAGE) means that.
    pub limit: Option<u32>,
    /// Older than the entry of this id: `next` of the page before.
    pub before: Option<String>,
}

/// One page of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ApprovalPage {
    /// Newest first.
    pub approvals: Vec<ApprovalSummary>,
    /// `before` of the next page, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The queue. An entry is pending until it is decided, expires or is withdrawn, and then never pending again; what is
/// approved is used at most once. Entries that a turn waits for expire when the store is opened: that turn is gone.
pub trait Approvals: Send + Sync + std::fmt::Debug {
    /// Asks, where the queue holds fewer than `most` pending questions. An entry that still holds for the very same call is
    /// taken up instead: one that is approved and not used, and where nobody waits one that is pending or denied. It is on
    /// disk when this returns.
    ///
    /// # Errors
    /// [`StoreError`] where it could not be committed: the call must not be executed.
    fn ask<'a>(&'a self, question: &'a Question, most: u32) -> BoxFuture<'a, Result<Asked, StoreError>>;

    /// Decides about a pending one. Of several decisions the first stands.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is decided then.
    fn decide<'a>(&'a self, id: &'a str, ruling: &'a Ruling) -> BoxFuture<'a, Result<Decided, StoreError>>;

    /// Ends a pending one without a decision, as expired or withdrawn, and says how it stands now: a decision that came first
    /// stands. `None` where there is none of that id.
    ///
    /// # Errors
    /// [`StoreError`].
    fn close<'a>(&'a self, id: &'a str, status: ApprovalStatus) -> BoxFuture<'a, Result<Option<Closed>, StoreError>>;

    /// Uses up an approval of the call with this digest. `true` once, and only where it is approved; it is on disk then.
    ///
    /// # Errors
    /// [`StoreError`] where it could not be committed: the call must not be executed.
    fn use_up<'a>(&'a self, id: &'a str, digest: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// How one stands; `None` where there is none of that id.
    ///
    /// # Errors
    /// [`StoreError`].
    fn standing<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<ApprovalNote>, StoreError>>;

    /// One of them, whole; `None` where there is none of that id.
    ///
    /// # Errors
    /// [`StoreError`].
    fn approval<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Approval>, StoreError>>;

    /// A page of them, newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    fn approvals<'a>(&'a self, filter: &'a ApprovalFilter) -> BoxFuture<'a, Result<ApprovalPage, StoreError>>;

    /// How many are pending.
    ///
    /// # Errors
    /// [`StoreError`].
    fn pending(&self) -> BoxFuture<'_, Result<u64, StoreError>>;

    /// Lets at most `limit` questions whose time is over expire, and as many approvals that nobody used; says how many
    /// questions did.
    ///
    /// # Errors
    /// [`StoreError`].
    fn expire_due(&self, limit: u32) -> BoxFuture<'_, Result<u64, StoreError>>;
}
