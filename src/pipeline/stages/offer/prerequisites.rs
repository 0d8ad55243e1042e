//! What the chosen tools are of no use without: the tools that answer with a key that nobody gave.

use crate::pipeline::Pipeline;
use crate::pipeline::plan_ground::PlanGround;
use crate::pipeline::turn::Turn;
use callwright_knowledge::planner::drawing::Tools;
use callwright_knowledge::planner::when::Said;
use callwright_types::OfferReason;

use super::Offering;
use super::choose::{Chosen, Pick};
use super::pool::{Pool, ToolAt};

/// Which tools supply what the chosen ones need.
#[derive(Debug)]
pub(super) struct Prerequisites {
    ground: PlanGround,
    /// Tools for each key.
    at_most: usize,
}

impl Prerequisites {
    /// Those of a turn; `None` where policy wants none.
    pub(super) fn of(pipeline: &Pipeline, turn: &Turn, offering: &Offering) -> Option<Self> {
        let at_most = turn.policy.offer.prerequisites as usize;
        (at_most > 0).then(|| Self { ground: PlanGround::of(pipeline, turn, offering), at_most })
    }

    /// The tools that supply the keys that the tools chosen in the last step require and what was `said` has not, in the order of those; none
    /// that is chosen itself.
    pub(super) fn of_step(&self, chosen: &Chosen, pools: &[Pool], said: &[String]) -> Vec<ToolAt> {
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

    /// Where a tool that may be offered stands.
    fn at(&self, pools: &[Pool], position: usize) -> Option<ToolAt> {
        let tool = self.ground.tool(position)?;
        pools.iter().find_map(|pool| pool.at(pool.named(tool.tool.name())?))
    }
}

/// Is the tool there for what the user said? What was called before is known to work, and what only fills the list serves nothing.
fn is_wanted(pick: &Pick) -> bool {
    use OfferReason::{Named, Ranked, Required};
    pick.share.is_some() || matches!(pick.reason, Required | Named | Ranked)
}

fn position(ground: &PlanGround, pools: &[Pool], tool: ToolAt) -> Option<usize> {
    let pool = pools.iter().find(|pool| pool.side == tool.side)?;
    ground.position(pool.candidates.name(tool.position as usize)?)
}
