//! Prerequisites of the selected tools: the tools that return a required key that is missing in the conversation.

use std::collections::HashSet;

use crate::pipeline::tools::{ChosenTools, Pick, PlanContext, Pool, ToolAt};
use callwright_plan::generation::Tools;
use callwright_plan::when::ConversationKeys;
use callwright_types::OfferReason;
use callwright_types::rules::OfferRules;

/// Returns the tools that supply the missing required keys of the tools selected in the last step, in the order of
/// those, and at most as many per key as the rules allow. A key is missing if `user_messages` does not contain it.
/// Excludes tools that are selected themselves.
pub(super) fn prerequisites(
    tools: &PlanContext,
    pools: &[Pool],
    chosen: &ChosenTools,
    user_messages: &[String],
    rules: &OfferRules,
) -> Vec<ToolAt> {
    let user_messages = ConversationKeys::collect(user_messages.iter().map(String::as_str));
    let new: Vec<&Pick> = chosen.picks.iter().filter(|pick| pick.used == chosen.step).collect();
    let mut found: Vec<ToolAt> = Vec::new();
    for pick in new.iter().filter(|pick| is_needed(pick)) {
        let Some(position) = position(tools, pools, pick.tool) else { continue };
        let prerequisites = tools.indexed.prerequisites(position, tools);
        for prerequisite in prerequisites.iter().filter(|prerequisite| !prerequisite.is_given(&user_messages)) {
            let suppliers = prerequisite.producers.iter().filter_map(|producer| offered_as(tools, pools, *producer));
            found.extend(suppliers.take(rules.prerequisites as usize));
        }
    }
    let mut seen: HashSet<ToolAt> = new.iter().map(|pick| pick.tool).collect();
    found.retain(|tool| seen.insert(*tool));
    found
}

/// Returns the place of a planner's tool in the pools if it may be offered.
fn offered_as(tools: &PlanContext, pools: &[Pool], position: usize) -> Option<ToolAt> {
    let tool = tools.tool(position)?;
    pools.iter().find_map(|pool| pool.at(pool.named(tool.tool.name())?))
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
