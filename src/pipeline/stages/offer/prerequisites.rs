//! Prerequisites of the selected tools: the tools that return a required key that is missing in the conversation.

use crate::pipeline::Pipeline;
use crate::pipeline::plan_context::PlanContext;
use crate::pipeline::turn::Turn;
use callwright_knowledge::planner::drawing::Tools;
use callwright_knowledge::planner::when::Said;
use callwright_types::OfferReason;

use super::Offering;
use super::choose::{ChosenTools, Pick};
use super::pool::{Pool, ToolAt};

/// Finds the tools that supply required keys.
#[derive(Debug)]
pub(super) struct Prerequisites {
    ground: PlanContext,
    /// Maximum number of tools per key.
    at_most: usize,
}

impl Prerequisites {
    /// Creates the lookup for a turn; `None` if policy disables prerequisites.
    pub(super) fn of(pipeline: &Pipeline, turn: &Turn, offering: &Offering) -> Option<Self> {
        let at_most = turn.policy.offer.prerequisites as usize;
        (at_most > 0).then(|| Self { ground: PlanContext::of(pipeline, turn, offering), at_most })
    }

    /// Returns the tools that supply the missing required keys of the tools selected in the last step, in the order of
    /// those. A key is missing if `said` does not contain it. Excludes tools that are selected themselves.
    pub(super) fn of_step(&self, chosen: &ChosenTools, pools: &[Pool], said: &[String]) -> Vec<ToolAt> {
        let said = Said::read(said.iter().map(String::as_str));
        let is_new = |pick: &&Pick| pick.used == chosen.step;
        let mut tools: Vec<ToolAt> = Vec::new();
        for pick in chosen.picks.iter().filter(is_new).filter(|pick| is_wanted(pick)) {
            let Some(position) = position(&self.ground, pools, pick.tool) else { continue };
            let prerequisites = self.ground.prerequisites(position);
            for prerequisite in prerequisites.iter().filter(|prerequisite| !prerequisite.is_given(&said)) {
                let suppliers = prerequisite.producers.iter().filter_map(|producer| self.at(pools, *producer));
                tools.extend(suppliers.take(self.at_most));
            }
        }
        let mut seen = std::collections::HashSet::new();
        tools.retain(|tool| seen.insert(*tool));
        let is_chosen = |tool: &ToolAt| chosen.picks.iter().filter(is_new).any(|pick| pick.tool == *tool);
        tools.retain(|tool| !is_chosen(tool));
        tools
    }

    /// Returns a tool's place if it may be offered.
    fn at(&self, pools: &[Pool], position: usize) -> Option<ToolAt> {
        let tool = self.ground.tool(position)?;
        pools.iter().find_map(|pool| pool.at(pool.named(tool.tool.name())?))
    }
}

/// Whether the tool is selected for a user message. Called tools are known to work, and filler tools serve no need.
fn is_wanted(pick: &Pick) -> bool {
    use OfferReason::{Named, Ranked, Required};
    pick.share.is_some() || matches!(pick.reason, Required | Named | Ranked)
}

fn position(ground: &PlanContext, pools: &[Pool], tool: ToolAt) -> Option<usize> {
    let pool = pools.iter().find(|pool| pool.side == tool.side)?;
    ground.position(pool.candidates.name(tool.position as usize)?)
}
