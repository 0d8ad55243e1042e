//! Bounded caches that turns share. They are lost with the process; a turn without them is slower or less informed.

mod analysed_messages;
mod offered_before;
mod outlined_before;
mod parameter_reactions;
mod planner_backoff;
mod planning_models;
mod recalled_before;
mod waiting_plans;

pub(crate) use analysed_messages::{AnalysisCache, ExplainedFailure};
pub(crate) use offered_before::{OfferedBefore, RememberedOffer, RememberedTool};
pub(crate) use outlined_before::{OutlinedBefore, PlanOutline};
pub(crate) use parameter_reactions::{KnownReactions, ParameterReactions};
pub(crate) use planner_backoff::PlannerBackoff;
pub(crate) use planning_models::PlanningModels;
pub(crate) use recalled_before::{RecalledBefore, RecalledNotes, message_key};
pub(crate) use waiting_plans::WaitingPlans;
