//! The processing of a request; start with `turn.rs`.
//!
//! Owns the sequence of stages, the dialogue that decides the next step, and the snapshot of a turn. Must not know
//! HTTP servers, SQL, or OpenAI JSON.
//!
//! `turn` calls the `stages`. Stages change the `state` of a turn, which includes the `tools` that it offers, and use
//! the `services` that all turns share.

mod answer;
mod answer_memory;
mod approvals;
mod caches;
mod charge;
mod cpu;
mod deferred;
mod dialogue;
mod fetched;
mod inspection;
mod kept_key;
mod memory_limit;
mod pass_through;
mod query_vectors;
mod refusal_log;
mod services;
mod settings;
mod snapshot;
mod stages;
mod state;
mod stream_buffer;
mod switch;
mod targets;
mod tools;
mod turn;

pub use answer::{AnswerBody, DeliveryAck, NoAnswer, PendingAnswer, Running, TurnAnswer};
pub use approvals::ApprovalDesk;
pub use charge::{refusal_body, refusal_headers};
pub use deferred::Deferred;
pub use fetched::FetchedResponse;
pub use inspection::{Editing, Inspection, ToolShown, ToolsetState, UpstreamShown};
pub use kept_key::tenant;
pub use memory_limit::MemoryLimit;
pub(crate) use memory_limit::{MemoryFull, PARTS_OF_SMALL_BODIES, Reservation, SMALL_BODY_BYTES, held};
pub use pass_through::{PassThrough, Passed};
pub use services::{Pipeline, PipelineParts};
pub use settings::{AliasSettings, FallbackSettings, PassThroughSettings, Settings, TargetSettings};
pub use snapshot::{RecallMemory, Tooling};
pub use stages::offer::SEARCH_TOOL;
pub use stages::open::TurnRequest;
pub use stream_buffer::EventReceiver;
pub use switch::{Switch, Switched, Thrown};
pub use targets::Target;
pub use tools::{ProducerIndex, ToolsetIndex};

pub(crate) use turn::TURN_LOG_TARGET;
