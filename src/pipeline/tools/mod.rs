//! The tools of a turn: those of the catalog and of the client, those that are offered, and which of them supply which
//! argument. No module here imports a stage.
//!
//! [`Candidates`] are the tools of one side, cached; a [`Pool`] applies the rules of a turn to them, and [`ChosenTools`]
//! are selected from pools. [`Offer`] has the selected tools compiled and in their sent form, and [`Offering`] holds all of
//! this while the turn runs. Two indexes belong to a catalog: [`ToolsetIndex`] finds tools for a text, and
//! [`ProducerIndex`] finds the tools that supply an argument, which [`PlanContext`] presents to the planner.

mod candidates;
mod chosen;
mod offer;
mod offering;
mod plan_context;
mod producer_index;
#[cfg(test)]
mod producer_index_tests;
#[cfg(test)]
mod relevance_shared_data_tests;
mod toolset_index;
#[cfg(test)]
mod turn_tools_tests;

pub(crate) use candidates::{Candidates, digest};
pub(crate) use chosen::{ChosenTools, Pick, Pool, Side, ToolAt};
pub(crate) use offer::{Offer, Offers, SentToolList, report_problems};
pub(crate) use offering::Offering;
pub(crate) use plan_context::PlanContext;
pub use producer_index::ProducerIndex;
pub use toolset_index::ToolsetIndex;
