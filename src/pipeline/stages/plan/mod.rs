//! Plan: creates or resumes a plan of calls for a request, and lets it answer instead of the model (Reverse Chain).
//!
//! A plan is a source of answers. Where a turn would query its upstream, a running plan answers instead: its ready
//! calls become an answer that is validated, run, stored and sent like a model's answer. When all calls are answered,
//! or the plan cannot continue, the upstream gets the conversation with all results.
//!
//! `drawing` requests plans from the planning model. `resume` finds a plan when a client returns, and compares it with
//! the client's actions. `past` provides learned procedures as templates or outlines. `speak` determines the next step.
//! `keep` commits the state on which an answer depends. A plan that fails is given up and counted; it never costs a
//! turn its answer.

mod choosing;
mod drawing;
mod keep;
mod metered;
mod past;
mod resume;
mod speak;

use std::time::Instant;

use crate::pipeline::services::Pipeline;
use crate::pipeline::state::{JudgedAnswer, PlanRun, Turn, TurnConversation};
use crate::pipeline::tools::{Offering, PlanContext};
use callwright_plan::generation::Tools;
use callwright_plan::when::{needs_plan, unsupplied_keys};
use callwright_telemetry::OperationKind;
use callwright_telemetry::labels::Stage;
use callwright_types::rules::{Mode, PlanMode, ProceduresMode};
use callwright_types::{Message, PlanResult, Purpose};
use callwright_wire::{Completion, ModelRequest, ToolChoice};

use drawing::{PlanReason, PlanSketch};
use past::Past;

pub(crate) use keep::keep;
pub(in crate::pipeline::stages) use metered::{MeteredModel, StageContext};

/// Returns the plan for this turn: a stored one that waited for the client, or a new one if policy requires one.
pub(crate) async fn plan(pipeline: &Pipeline, turn: &mut Turn, conversation: &mut TurnConversation) -> Option<PlanRun> {
    let TurnConversation { offering, draft, .. } = conversation;
    past::put_back(pipeline, turn, draft);
    if !may_plan(turn, offering) {
        return None;
    }
    let (started, elsewhere) = (Instant::now(), turn.record.elsewhere);
    let attempts = turn.record.trace.attempts.len();
    let mut context = StageContext { pipeline, turn: &mut *turn, offering, draft };
    let begun = Box::pin(begin(&mut context));
    let begun = pipeline.shielded(Stage::Plan, "the turn continues without a plan", begun).await;
    let asking = turn.record.elsewhere.saturating_sub(elsewhere);
    pipeline.metrics.overhead.observe(Stage::Plan, started.elapsed().saturating_sub(asking));
    let trace = &turn.record.trace;
    if trace.plan.is_some() || trace.attempts.len() > attempts {
        let calls = trace.plan.as_ref().and_then(|note| note.plan.as_ref()).map_or(0, |plan| plan.nodes().len());
        turn.record.operation(OperationKind::Plan, started, calls);
    }
    begun.flatten()
}

/// Whether a plan or past procedures can be used. Requires tools, an unrestricted tool choice and a single
/// conversation. In the legacy form, calls have no ids by which a plan could be found.
fn may_plan(turn: &Turn, offering: &Offering) -> bool {
    turn.policy.mode == Mode::Guard
        && (turn.policy.plan != PlanMode::Off || turn.policy.procedures != ProceduresMode::Off)
        && turn.request.choice_count() == 1
        && matches!(turn.request.tool_choice(), ToolChoice::Auto | ToolChoice::Required)
        && !turn.request.is_legacy()
        && offering.offer.is_judged()
}

async fn begin(context: &mut StageContext<'_>) -> Option<PlanRun> {
    let (mode, past) = (context.turn.policy.plan, Past::of(context.turn));
    if mode == PlanMode::Off && past.is_none() {
        return None;
    }
    if mode != PlanMode::Off
        && let Some(plan_run) = resume::resume(context).await
    {
        return Some(plan_run);
    }
    let request = asked_now(&context.turn.request)?;
    let is_outlined = past.as_ref().is_some_and(|past| past.mode == ProceduresMode::Always);
    // The rules for plans and for outlines need a required key.
    let needs_key = matches!(mode, PlanMode::Auto | PlanMode::Off) && !is_outlined;
    if needs_key && !context.offering.offer.may_require_key() {
        return None;
    }
    let tools = plan_tools(context, needs_key).await?;
    let conversation = context.conversation();
    let (mut reason, lacks) = needed(context, &tools, &conversation, &request, past.is_some()).await;
    let is_outlined = is_outlined || lacks;
    if reason.is_none() && mode == PlanMode::Ask {
        let scores = tools.analyse_at_once(context.pipeline, context.turn, &request).await;
        let sketch = PlanSketch { tools: &tools, scores: &scores, conversation: &conversation, outline: &[] };
        reason = drawing::is_chain(context, &sketch).await.then_some(PlanReason::Reported);
    }
    if reason.is_none() && !is_outlined {
        return None;
    }
    let procedure = match &past {
        Some(past) if reason.is_some() => past.template(context, &tools, &request).await,
        _ => None,
    };
    let mut outline = Vec::new();
    if let Some(past) = past.filter(|_| is_outlined && procedure.is_none()) {
        outline = past.outline(context, &tools, &request).await;
    }
    let reason = reason?;
    let scores = tools.analyse(context.pipeline, context.turn, &request).await;
    let sketch = PlanSketch { tools: &tools, scores: &scores, conversation: &conversation, outline: &outline };
    drawing::begin(context, &sketch, reason, procedure).await
}

/// Returns the tools of the turn as the planner sees them; `None` if they are not indexed yet, or if `needs_key` is
/// set and no offered tool requires a key.
async fn plan_tools(context: &StageContext<'_>, needs_key: bool) -> Option<PlanContext> {
    let StageContext { pipeline, turn, offering, .. } = context;
    let (offer, index) = (&offering.offer, &turn.tooling.producers);
    let is_clients_list = offering.is_clients_list();
    if needs_key && is_clients_list && offer.is_without_supply(index) {
        return None;
    }
    // Compiles the offered tools, so it belongs to the same CPU work.
    let tools = PlanContext::with(pipeline, turn, offering, |tools| {
        tools.requires_key();
    })
    .await?;
    let requires_key = tools.requires_key();
    if !requires_key && is_clients_list {
        offer.note_without_supply(index);
    }
    (!needs_key || requires_key).then_some(tools)
}

/// Returns the reason for a plan, if one is needed, and whether the request lacks several inputs without a clear
/// source.
async fn needed(
    context: &StageContext<'_>,
    tools: &PlanContext,
    conversation: &[Message],
    request: &str,
    has_past: bool,
) -> (Option<PlanReason>, bool) {
    let mode = context.turn.policy.plan;
    let always = (mode == PlanMode::Always).then_some(PlanReason::Always);
    let has_rule = matches!(mode, PlanMode::Auto | PlanMode::Ask);
    if !has_rule && !has_past {
        return (always, false);
    }
    if !tools.requires_key() || !has_past && !tools.indexed.may_need_plan(tools) {
        return (always, false);
    }
    // A simple turn must not wait for vectors.
    let scores = tools.analyse_at_once(context.pipeline, context.turn, request).await;
    let sketch = PlanSketch { tools, scores: &scores, conversation, outline: &[] };
    let reason = match mode {
        PlanMode::Off | PlanMode::Always => always,
        PlanMode::Ask | PlanMode::Auto => reason(&sketch),
    };
    (reason, has_past && unsupplied_keys(&sketch.inputs()) > 1)
}

/// Returns why the request needs a plan; `None` if it needs none.
fn reason(sketch: &PlanSketch<'_>) -> Option<PlanReason> {
    let why = needs_plan(&sketch.inputs())?;
    let (tool, producer) = (sketch.tools.tool(why.tool), sketch.tools.tool(why.producer.tool));
    let [tool, producer] = [&tool, &producer].map(|tool| tool.as_ref().map_or("", |tool| tool.tool.name()).to_owned());
    Some(PlanReason::Missing { tool, argument: why.argument, producer })
}

/// Returns the next answer of the plan; `None` if the upstream is to answer.
pub(crate) async fn speak(
    pipeline: &Pipeline,
    turn: &mut Turn,
    conversation: &mut TurnConversation,
    purpose: Purpose,
) -> Option<Completion> {
    let TurnConversation { offering, draft, plan_run, .. } = conversation;
    let plan_run = plan_run.as_mut().filter(|plan_run| plan_run.is_under_way())?;
    let mut context = StageContext { pipeline, turn, offering, draft };
    let answer = Box::pin(speak::speak(&mut context, plan_run, purpose));
    match pipeline.shielded(Stage::Plan, "the turn continues without its plan", answer).await {
        Some(answer) => answer,
        None => {
            plan_run.end(PlanResult::GivenUp, "");
            None
        }
    }
}

/// Whether the plan's answer is valid. If not, the plan is given up and the upstream answers. The client does not see
/// the invalid answer.
pub(crate) fn accepts(turn: &mut Turn, conversation: &mut TurnConversation, judged: &JudgedAnswer) -> bool {
    let Some(plan_run) = &mut conversation.plan_run else { return false };
    let is_right = judged.diagnoses().next().is_none();
    if is_right {
        plan_run.record_calls(judged)
    } else {
        plan_run.refuse(judged)
    }
    plan_run.note(turn);
    is_right
}

/// Returns the user's request of this turn; `None` if the last message is not from the user, for example during tool
/// calls.
fn asked_now(request: &ModelRequest) -> Option<String> {
    let messages = request.messages();
    let last = messages.iter().rev().find(|message| !matches!(message.role.as_ref(), "system" | "developer"))?;
    let text = last.text.as_deref().filter(|_| last.role == "user")?;
    (!text.trim().is_empty()).then(|| text.to_owned())
}
