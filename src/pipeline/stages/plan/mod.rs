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
mod mending;
mod metered;
mod outlined;
mod past;
mod plan_run;
mod resume;
mod speak;
mod stage_context;

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use futures_util::FutureExt;

use crate::pipeline::Pipeline;
use crate::pipeline::cpu::CpuWork;
use crate::pipeline::dialogue::RequestPurpose;
use crate::pipeline::plan_context::PlanContext;
use crate::pipeline::turn::Turn;
use callwright_knowledge::planner::drawing::Tools;
use callwright_knowledge::planner::when::{lacking, needs_plan};
use callwright_openai::{ChatRequest, Completion, ToolChoice};
use callwright_telemetry::OperationKind;
use callwright_telemetry::labels::Stage;
use callwright_types::rules::{Mode, PlanMode, ProceduresMode};
use callwright_types::{Message, PlanResult};

use super::compose::ChatDraft;
use super::judge::JudgedAnswer;
use super::offer::Offering;
use drawing::PlanSketch;
pub(crate) use keep::keep;
pub(crate) use outlined::OutlinedBefore;
use past::Past;
pub(crate) use plan_run::PlanRun;
use stage_context::StageContext;

/// Returns the plan for this turn: a stored one that waited for the client, or a new one if policy requires one.
pub(crate) async fn plan(
    pipeline: &Pipeline,
    turn: &mut Turn,
    offering: &mut Offering,
    draft: &mut ChatDraft,
) -> Option<PlanRun> {
    outlined::put_back(pipeline, turn, draft);
    if !may_plan(turn, offering) {
        return None;
    }
    let (started, elsewhere) = (Instant::now(), turn.record.elsewhere());
    let attempts = turn.record.trace().attempts.len();
    // An auxiliary stage: a panic here must not affect the turn.
    let mut scene = StageContext { pipeline, turn: &mut *turn, offering, draft };
    let begun = AssertUnwindSafe(begin(&mut scene)).catch_unwind().await;
    let asking = turn.record.elsewhere().saturating_sub(elsewhere);
    pipeline.metrics.overhead.observe(Stage::Plan, started.elapsed().saturating_sub(asking));
    let trace = turn.record.trace();
    if trace.plan.is_some() || trace.attempts.len() > attempts {
        let calls = trace.plan.as_ref().and_then(|note| note.plan.as_ref()).map_or(0, |plan| plan.nodes().len());
        turn.record.operation(OperationKind::Plan, started, calls);
    }
    begun.unwrap_or_else(|_| {
        tracing::error!("the plan stage panicked: the turn continues without a plan");
        pipeline.metrics.stage_degraded.inc(Stage::Plan);
        None
    })
}

/// Minimum number of missing inputs without a clear source for which an outline is made (`procedures: auto`).
const LACKING: usize = 2;

/// Whether a plan or past procedures can be used. Requires tools, an unrestricted tool choice and a single
/// conversation. In the legacy form, calls have no ids by which a plan could be found.
fn may_plan(turn: &Turn, offering: &Offering) -> bool {
    turn.policy.mode == Mode::Guard
        && (turn.policy.plan != PlanMode::Off || turn.policy.procedures != ProceduresMode::Off)
        && turn.request.choice_count() == 1
        && matches!(turn.request.tool_choice(), ToolChoice::Auto | ToolChoice::Required)
        && !turn.request.is_legacy()
        && offering.offer().is_judged()
}

async fn begin(scene: &mut StageContext<'_>) -> Option<PlanRun> {
    let (mode, past) = (scene.turn.policy.plan, Past::of(scene.turn));
    if mode == PlanMode::Off && past.is_none() {
        return None;
    }
    if mode != PlanMode::Off
        && let Some(plan_run) = resume::resume(scene).await
    {
        return Some(plan_run);
    }
    let request = asked_now(&scene.turn.request)?;
    let is_outlined = past.as_ref().is_some_and(Past::is_always);
    // Both rules require a missing key.
    let needs_key = mode != PlanMode::Always && !is_outlined;
    if needs_key && !scene.offering.offer().may_require_key() {
        return None;
    }
    let ground = ground(scene, needs_key).await?;
    let conversation = scene.conversation();
    let (reason, lacks) = needed(scene, &ground, &conversation, &request, past.is_some()).await;
    let is_outlined = is_outlined || lacks;
    if reason.is_none() && !is_outlined {
        return None;
    }
    let procedure = match &past {
        Some(past) if reason.is_some() => past.template(scene, &ground, &request).await,
        _ => None,
    };
    let mut outline = Vec::new();
    if let Some(past) = past.filter(|_| is_outlined && procedure.is_none()) {
        outline = past.outline(scene, &ground, &request).await;
    }
    let reason = reason?;
    let asked = ground.ask(scene.pipeline, scene.turn, &request).await;
    let sketch = PlanSketch { ground: &ground, asked: &asked, conversation: &conversation, outline: &outline };
    drawing::begin(scene, &sketch, reason, procedure).await
}

/// Returns the tools of the turn as the planner sees them; `None` if one of them has to require a key and none does.
async fn ground(scene: &StageContext<'_>, needs_key: bool) -> Option<PlanContext> {
    let build = || {
        let ground = PlanContext::of(scene.pipeline, scene.turn, scene.offering);
        (!needs_key || ground.requires_key()).then_some(ground)
    };
    // A list that is not indexed yet takes as long as compiling it.
    if PlanContext::is_known(scene.turn, scene.offering) {
        return build();
    }
    let bytes = scene.turn.request.tools_text().map_or(0, str::len);
    scene.pipeline.cpu.run(scene.turn.tenant(), (CpuWork::Tools, bytes), build).await
}

/// Returns the reason for a plan, if one is needed, and whether the request lacks several inputs without a clear
/// source.
async fn needed(
    scene: &StageContext<'_>,
    ground: &PlanContext,
    conversation: &[Message],
    request: &str,
    has_past: bool,
) -> (Option<String>, bool) {
    let mode = scene.turn.policy.plan;
    if mode != PlanMode::Auto && !has_past {
        return ((mode == PlanMode::Always).then(String::new), false);
    }
    // A simple turn must not wait for vectors.
    let asked = ground.ask_at_once(scene.pipeline, scene.turn, request).await;
    let sketch = PlanSketch { ground, asked: &asked, conversation, outline: &[] };
    let reason = match mode {
        PlanMode::Off => None,
        PlanMode::Always => Some(String::new()),
        PlanMode::Auto => reason(&sketch),
    };
    (reason, has_past && lacking(&sketch.occasion()) >= LACKING)
}

/// Returns why the request needs a plan; `None` if it needs none.
fn reason(sketch: &PlanSketch<'_>) -> Option<String> {
    let why = needs_plan(&sketch.occasion())?;
    let name = |position| sketch.ground.tool(position).map(|tool| tool.tool.name().to_owned()).unwrap_or_default();
    Some(format!("`{}` of {} is missing, and {} supplies it", why.argument, name(why.tool), name(why.producer.tool)))
}

/// Returns the next answer of the plan; `None` if the upstream is to answer.
pub(crate) async fn speak(
    pipeline: &Pipeline,
    turn: &mut Turn,
    (offering, draft): (&mut Offering, &mut ChatDraft),
    plan_run: &mut Option<PlanRun>,
    purpose: RequestPurpose,
) -> Option<Completion> {
    let plan_run = plan_run.as_mut().filter(|plan_run| plan_run.is_under_way())?;
    let mut scene = StageContext { pipeline, turn, offering, draft };
    let said = AssertUnwindSafe(speak::speak(&mut scene, plan_run, purpose)).catch_unwind().await;
    said.unwrap_or_else(|_| {
        tracing::error!("a plan panicked: the turn continues without it");
        pipeline.metrics.stage_degraded.inc(Stage::Plan);
        plan_run.end(PlanResult::GivenUp, "");
        None
    })
}

/// Whether the plan's answer is valid. If not, the plan is given up and the upstream answers. The client does not see
/// the invalid answer.
pub(crate) fn accepts(turn: &mut Turn, plan_run: &mut Option<PlanRun>, judged: &JudgedAnswer) -> bool {
    let Some(plan_run) = plan_run else { return false };
    let is_right = judged.diagnoses().next().is_none();
    if is_right {
        plan_run.said(judged)
    } else {
        plan_run.refuse(judged)
    }
    plan_run.note(turn);
    is_right
}

/// Returns the user's request of this turn; `None` if the last message is not from the user, for example during tool
/// calls.
fn asked_now(request: &ChatRequest) -> Option<String> {
    let messages = request.messages();
    let last = messages.iter().rev().find(|message| !matches!(message.role.as_ref(), "system" | "developer"))?;
    let text = last.text.as_deref().filter(|_| last.role == "user")?;
    (!text.trim().is_empty()).then(|| text.to_owned())
}
