//! What outlives the process: one trait per topic, and SQLite behind them.
//!
//! The only room that knows SQL. Owns migrations, the bounded queue of traces, and what happens when the store is down. Must not
//! know who asks.
//!
//! Two kinds of writing are kept apart. *Memory* ([`Traces`], [`Vectors`]) goes through queues such as [`TraceQueue`], and nothing waits
//! for it. *Turn
//! state* ([`Intents`], [`KeptParts`], [`PlanStates`], [`Approvals`]) is committed before the request that depends on it leaves.

mod approvals;
mod cursor;
mod error;
mod handle;
mod health;
mod intents;
mod kept;
mod location;
mod plans;
mod queue;
mod row;
#[cfg(test)]
mod samples;
mod settings;
mod sqlite;
mod traces;
mod vectors;
mod writer;

pub use approvals::{
    Approval, ApprovalFilter, ApprovalPage, ApprovalSummary, Approvals, Asked, Closed, Decided, Question, Ruling,
};
pub use error::StoreError;
pub use handle::Store;
pub use health::Health;
pub use intents::{Beginning, Begun, IntentKey, Intents};
pub use kept::{KeptParts, KeptRow};
pub use location::{Location, UnknownLocation};
pub use plans::{PlanRow, PlanStates};
pub use queue::TraceQueue;
pub use row::TraceRow;
pub use settings::Settings;
pub use traces::{Ages, DEFAULT_PAGE, MAX_PAGE, TraceFilter, TracePage, TraceSummary, Traces};
pub use vectors::{TextHash, Vectors};
