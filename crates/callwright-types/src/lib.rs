//! Shared data types of the proxy: tools, calls, diagnoses, outcomes, traces.
//!
//! Owns plain data and pure functions on it. Must not depend on other modules of the proxy, do I/O, or read the clock
//! or the environment. Two exceptions: [`ids`] draws random identifiers, and timestamps are passed in.

pub mod approval;
pub mod failure;
pub mod fault;
pub mod ids;
pub mod key;
pub mod label;
pub mod limits;
pub mod memory;
pub mod message;
pub mod offer;
pub mod outcome;
pub mod output;
pub mod plan;
mod plan_note;
pub mod promise;
pub mod protocol;
pub mod refusal;
pub mod repair;
pub mod representation;
pub mod rules;
pub mod secret;
mod secret_values;
pub mod similarity;
pub mod tool;
pub mod tool_names;
pub mod trace;
mod turn_result;
pub mod usage;

pub use approval::{ApprovalNote, ApprovalStatus};
pub use failure::{CircuitState, UpstreamFailure, UpstreamFailureKind};
pub use fault::{Diagnosis, FaultCode};
pub use key::{Budget, BudgetPeriod, KeyLimits, KeyNote, KeySecret, VirtualKey};
pub use label::Label;
pub use limits::{LimitMessage, Limits, TurnLimit};
pub use memory::{
    Evidence, EvidenceKind, Lesson, LessonDraft, MemoryNote, Polarity, Procedure, ProcedureDraft, Scope, UsageCounter,
};
pub use message::{Call, Message, RequestPart, Speaker, TextAuthor};
pub use offer::{OfferNote, OfferReason, OfferedTool, PrefixChange};
pub use outcome::{DocText, Explanation, Outcome, Passage};
pub use output::{OutputField, OutputLink, ValueKind};
pub use plan::Plan;
pub use plan_note::{ChosenBy, DeviationKind, PlanChoice, PlanDeviation, PlanNote, PlanResult, PlanStep};
pub use protocol::Protocol;
pub use refusal::{Refusal, RefusalReason};
pub use repair::{Repair, RepairKind, RepairNote, ValueType};
pub use secret::{Secret, written_forms};
pub use secret_values::{MASK, SecretValues};
pub use similarity::Similarity;
pub use tool::{OperationRef, Owner, SchemaDialect, Tool, ToolKind};
pub use trace::{Purpose, Trace};
pub use turn_result::{TurnAction, TurnActions, TurnOutcome, TurnResult, UnjudgedReason, Verdict};
pub use usage::{Cost, Usage};

/// Whether a value is the one that a missing member of a document has.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
