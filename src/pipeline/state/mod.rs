//! The data of a running turn. No module here imports a stage.

mod conversation;
mod draft;
mod judged_answer;
mod kept_calls;
mod plan_run;
mod record;
mod run_results;
mod settled_answer;
mod stream_progress;
mod tool_results;
mod turn;
mod upstream_reply;

pub(crate) use conversation::TurnConversation;
pub(crate) use draft::ChatDraft;
pub(crate) use judged_answer::JudgedAnswer;
pub(crate) use kept_calls::{KeptCalls, OrderedCall, with_fresh_id};
pub(crate) use plan_run::{PlanRun, PlanRunState, WaitingPlan, value_of};
pub(crate) use record::{Opening, TurnRecord, milliseconds};
pub(crate) use run_results::{RanCall, RunResults};
pub(crate) use settled_answer::SettledAnswer;
pub(crate) use stream_progress::{HeldText, SentText, StreamProgress};
pub(crate) use tool_results::{ToolResult, tool_results};
pub(crate) use turn::Turn;
pub(crate) use upstream_reply::{Relay, UpstreamReply};
