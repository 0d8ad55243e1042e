//! Persistence in SQLite or PostgreSQL: methods of [`Store`], one module per topic. Topics that have test doubles are
//! traits.
//!
//! The only crate that contains SQL. Owns migrations, the bounded trace queue, and the behaviour during a store outage.
//! Must not depend on its callers.
//!
//! Two kinds of writes are separate. *Memory* ([`Traces`], [`Vectors`]) is written through queues such as
//! [`TraceQueue`], and no request waits for it. *Turn state* ([`Intents`], approvals, plans, and kept parts of answers)
//! is committed before the request that depends on it is sent.

mod approvals;
mod claim;
#[cfg(test)]
mod contract;
mod deletion;
mod disk;
mod error;
mod feedback;
mod findings;
mod handle;
mod intents;
#[cfg(test)]
mod isolation_tests;
mod jobs;
mod kept;
mod key_usage;
mod keys;
mod leftover;
mod location;
mod memory;
mod migrations;
mod objects;
mod overview;
mod plans;
mod postgres;
#[cfg(test)]
#[path = "../../../tests/it/support/postgres.rs"]
mod postgres_server;
mod question;
mod queue;
mod revisions;
mod row;
#[cfg(test)]
mod samples;
mod seal;
mod settings;
mod spill;
mod sql;
mod sqlite;
mod tokens;
mod traces;
mod transfer;
#[cfg(test)]
mod transfer_tests;
mod vectors;
mod writer;

pub use approvals::{
    Approval, ApprovalFilter, ApprovalPage, ApprovalSummary, ClosedApproval, DecisionResult, Question, QueueResult,
    Ruling,
};
pub use claim::{StoreClaim, StoreInUse};
pub use deletion::{Deletion, DeletionCounts};
pub use error::StoreError;
pub use feedback::{FeedbackPage, FeedbackResult, FeedbackRow, FeedbackVerdict};
pub use findings::{Finding, FindingFilter, FindingKind, UnknownFinding};
pub use handle::{Health, Store};
pub use intents::{Beginning, IntentKey, IntentState, Intents};
pub use kept::KeptRow;
pub use key_usage::{UsageChanges, UsageReport, UsageRow};
pub use keys::{KeyChanges, KeyPut};
pub use leftover::RecoveredTraces;
pub use location::{Location, PostgresUrl, UnknownLocation};
pub use memory::{
    Changes, ForgetCounts, ForgetSelection, Lessons, Memorable, Memory, MemoryFilter, MemoryPage, MemoryStatus,
    Procedures, PutResult, Representations, ToolSamples,
};
pub use objects::{ObjectOwner, ObjectRow};
pub use overview::{
    CountedFinding, CountedTool, MAX_BUCKETS, MAX_TURNS, Overview, OverviewBucket, OverviewRange, Quantiles,
    SessionFilter, SessionPage, SessionSummary, ToolUsage, TurnCounts, UsedTool,
};
pub use plans::PlanRow;
pub use queue::TraceQueue;
pub use revisions::{Revision, Revisions};
pub use row::TraceRow;
pub use seal::SealKeyError;
pub use settings::{PostgresSettings, SWEEP_ROWS, Settings};
pub use tokens::{SealedTokens, SharedToken, SharedTokens};
pub use traces::{
    Ages, DEFAULT_PAGE, LearnableTraces, MAX_EXAMINED, MAX_PAGE, TraceFilter, TracePage, TraceSummary, Traces,
    parse_time, time_or_age,
};
pub use transfer::{ExportPart, ExportPosition, ImportResult, PortableItem, PortableRow};
pub use vectors::{TextHash, Vectors};
