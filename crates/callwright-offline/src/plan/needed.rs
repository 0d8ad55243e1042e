//! Decision whether a request needs a plan, by the rule of the proxy.

use serde::Serialize;
use serde_json::{Value, json};

use super::record::{ReadRecord, candidate_json};
use callwright_knowledge::planner::generation::PlanInputs;
use callwright_knowledge::planner::when::needs_plan;

/// Members of an output line, in order.
#[derive(Serialize)]
pub(super) struct PlanNeededLine<'a> {
    id: &'a Value,
    pub(super) plan_needed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<Value>,
}

/// Returns the line of the output: whether a record needs a plan, with all tools of its toolset offered.
pub(super) fn needed_line(read: &ReadRecord<'_>) -> PlanNeededLine<'_> {
    let ReadRecord { record, request, toolset, vectors, .. } = read;
    let offered: Vec<usize> = (0..toolset.len()).collect();
    let why = needs_plan(&PlanInputs {
        tools: toolset.tools(),
        producers: toolset.producers(),
        scores: &toolset.producers().score(request, vectors),
        offered: &offered,
        conversation: &record.conversation(),
        memory: &[],
        outline: &[],
    });
    let why = why.map(|why| {
        json!({
            "tool": toolset.name(why.tool),
            "argument": why.argument,
            "producer": candidate_json(&why.producer, toolset),
        })
    });
    PlanNeededLine { id: &record.id, plan_needed: why.is_some(), why }
}
