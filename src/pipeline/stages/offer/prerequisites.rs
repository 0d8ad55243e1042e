//! Prerequisites of the selected tools: the tools that return a required key that is missing in the conversation.

use std::collections::HashSet;

use crate::pipeline::services::Pipeline;
use crate::pipeline::state::Turn;
use crate::pipeline::tools::{ChosenTools, Offering, Pick, PlanContext, Pool, ToolAt};
use callwright_plan::generation::Tools;
use callwright_plan::when::ConversationKeys;
use callwright_types::OfferReason;

/// Finds the tools that supply required keys.
#[derive(Debug)]
pub(super) struct Prerequisites {
    tools: PlanContext,
    /// Maximum number of tools per key.
    at_most: usize,
}

impl Prerequisites {
    /// Creates the lookup for a turn; `None` if policy disables prerequisites, or while they are being indexed.
    pub(super) async fn new(pipeline: &Pipeline, turn: &Turn, offering: &Offering) -> Option<Self> {
        let at_most = turn.policy.offer.prerequisites as usize;
        if at_most == 0 {
            return None;
        }
        Some(Self { tools: PlanContext::new(pipeline, turn, offering).await?, at_most })
    }

    /// Returns the tools that supply the missing required keys of the tools selected in the last step, in the order of
    /// those. A key is missing if `user_messages` does not contain it. Excludes tools that are selected themselves.
    pub(super) fn of_step(&self, chosen: &ChosenTools, pools: &[Pool], user_messages: &[String]) -> Vec<ToolAt> {
        let user_messages = ConversationKeys::collect(user_messages.iter().map(String::as_str));
        let new: Vec<&Pick> = chosen.picks.iter().filter(|pick| pick.used == chosen.step).collect();
        let mut tools: Vec<ToolAt> = Vec::new();
        for pick in new.iter().filter(|pick| is_needed(pick)) {
            let Some(position) = position(&self.tools, pools, pick.tool) else { continue };
            let prerequisites = self.tools.indexed.prerequisites(position, &self.tools);
            for prerequisite in prerequisites.iter().filter(|prerequisite| !prerequisite.is_given(&user_messages)) {
                let suppliers = prerequisite.producers.iter().filter_map(|producer| self.at(pools, *producer));
                tools.extend(suppliers.take(self.at_most));
            }
        }
        let mut seen: HashSet<ToolAt> = new.iter().map(|pick| pick.tool).collect();
        tools.retain(|tool| seen.insert(*tool));
        tools
    }

    /// Returns a tool's place if it may be offered.
    fn at(&self, pools: &[Pool], position: usize) -> Option<ToolAt> {
        let tool = self.tools.tool(position)?;
        pools.iter().find_map(|pool| pool.at(pool.named(tool.tool.name())?))
    }
}

/// Whether the tool is selected for a user message. Called tools are known to work, and filler tools serve no need.
fn is_needed(pick: &Pick) -> bool {
    use OfferReason::{Named, Ranked, Required};
    pick.share.is_some() || matches!(pick.reason, Required | Named | Ranked)
}

fn position(tools: &PlanContext, pools: &[Pool], tool: ToolAt) -> Option<usize> {
    let pool = pools.iter().find(|pool| pool.side == tool.side)?;
    tools.indexed.producers.position(pool.candidates.name(tool.position as usize)?)
}
