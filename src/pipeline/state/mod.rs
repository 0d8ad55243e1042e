//! The data of a running turn. No module here imports a stage.

mod answer;
mod conversation;
mod draft;
mod event_progress;
mod kept_calls;
mod plan_run;
mod record;
mod run_results;
mod stream_progress;
mod tool_results;
mod turn;

pub(crate) use answer::{JudgedAnswer, Relay, SettledAnswer, UpstreamReply};
pub(crate) use conversation::TurnConversation;
pub(crate) use draft::{ChatDraft, ToolReply};
pub(crate) use event_progress::{EventProgress, HeldEvent};
pub(crate) use kept_calls::{KeptCalls, OrderedCall, with_fresh_id};
pub(crate) use plan_run::{PlanRun, PlanRunState, WaitingPlan, value_of};
pub(crate) use record::{TurnRecord, milliseconds};
pub(crate) use run_results::{CallStates, RanCall};
pub(crate) use stream_progress::{HeldText, SentText, StreamProgress};
pub(crate) use tool_results::{ToolResult, tool_results};
pub(crate) use turn::{TRACE_HEADER, Turn};
