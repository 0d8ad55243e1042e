//! Decision whether a request needs a plan, by the rule of the proxy.

use serde::Serialize;
use serde_json::{Value, json};

use super::CandidatesSummary;
use super::record::{PlanRecord, candidate_json};
use super::toolsets::PlanToolset;
use crate::answers::AnswerLines;
use callwright_common::json::raw;
use callwright_knowledge::planner::generation::PlanInputs;
use callwright_knowledge::planner::producers::Request;
use callwright_knowledge::planner::when::needs_plan;
use callwright_search::embedding::Vector;
use callwright_types::{Message, Speaker};

/// Members of an output line, in order.
#[derive(Serialize)]
struct PlanNeededLine<'a> {
    id: &'a Value,
    plan_needed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<Value>,
}

/// Appends whether a record needs a plan, with all tools of its toolset offered.
pub(super) fn write(
    record: &PlanRecord,
    toolset: &PlanToolset,
    request: &Request,
    vectors: &[Vector],
    answers: &mut AnswerLines<CandidatesSummary>,
) {
    let (text, speaker) = (record.query.clone(), Speaker::User);
    let conversation = [Message { speaker, text, calls: Vec::new(), answers: None, name: None }];
    let offered: Vec<usize> = (0..toolset.len()).collect();
    let why = needs_plan(&PlanInputs {
        tools: toolset.tools(),
        producers: toolset.producers(),
        scores: &toolset.producers().score(request, vectors),
        offered: &offered,
        conversation: &conversation,
        memory: &[],
        outline: &[],
    });
    answers.summary.records += 1;
    answers.summary.needed += u64::from(why.is_some());
    let why = why.map(|why| {
        json!({
            "tool": toolset.name(why.tool),
            "argument": why.argument,
            "producer": candidate_json(&why.producer, toolset),
        })
    });
    let answer = PlanNeededLine { id: &record.id, plan_needed: why.is_some(), why };
    answers.lines.extend_from_slice(raw(&answer).get().as_bytes());
    answers.lines.push(b'\n');
}
