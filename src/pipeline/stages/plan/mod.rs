//! Plan: a request → a plan of calls under way, or nothing; and a plan under way → what it says in the model's place (Reverse Chain).
//!
//! A plan is a source of answers. Where a turn would ask its upstream, a plan under way speaks instead: the calls that are ready become an
//! answer that is judged, run, kept and sent as a model's is. When all calls were answered, or the plan cannot go on, the upstream is asked,
//! with everything that was found out in its conversation.
//!
//! `drawing` asks the model that draws plans, `resume` finds a plan again when a client returns and holds it against what the client did,
//! `past` has what was learned: a procedure that is the plan already, or an outline that helps whoever answers. `speak` says what comes next, `keep` commits the state that an answer depends on. A plan that breaks is given up and counted; it never
//! costs a turn its answer.

mod choosing;
mod course;
mod drawing;
mod keep;
mod mending;
mod metered;
mod outlined;
mod past;
mod resume;
mod scene;
mod speak;

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use futures_util::FutureExt;

use crate::pipeline::Pipeline;
use crate::pipeline::dialogue::Purpose;
use crate::pipeline::plan_ground::PlanGround;
use crate::pipeline::turn::Turn;
use callwright_knowledge::planner::drawing::Tools;
use callwright_knowledge::planner::when::{lacking, needs_plan};
use callwright_openai::{ChatRequest, Completion, ToolChoice};
use callwright_telemetry::OperationKind;
use callwright_telemetry::labels::Stage;
use callwright_types::rules::{Mode, PlanMode, ProceduresMode};
use callwright_types::{Message, PlanResult};

use super::compose::Draft;
use super::judge::JudgedAnswer;
use super::offer::Offering;
pub(crate) use course::Course;
use drawing::Sketch;
pub(crate) use keep::keep;
pub(crate) use outlined::OutlinedBefore;
use past::Past;
use scene::Scene;

/// The plan that this turn follows: one that waited for the client, or a new one where policy wants one.
pub(crate) async fn plan(
    pipeline: &Pipeline,
    turn: &mut Turn,
    offering: &mut Offering,
    draft: &mut Draft,
) -> Option<Course> {
    outlined::put_back(pipeline, turn, draft);
    if !may_plan(turn, offering) {
        return None;
    }
    let (started, elsewhere) = (Instant::now(), turn.record.elsewhere());
    let attempts = turn.record.trace().attempts.len();
    // A helping stage: whatever breaks here does not cost the turn.
    let mut scene = Scene { pipeline, turn: &mut *turn, offering, draft };
    let begun = AssertUnwindSafe(begin(&mut scene)).catch_unwind().await;
    let asking = turn.record.elsewhere().saturating_sub(elsewhere);
    pipeline.metrics.overhead.observe(Stage::Plan, started.elapsed().saturating_sub(asking));
    let trace = turn.record.trace();
    if trace.plan.is_some() || trace.attempts.len() > attempts {
        let calls = trace.plan.as_ref().and_then(|note| note.plan.as_ref()).map_or(0, |plan| plan.nodes().len());
        turn.record.operation(OperationKind::Plan, started, calls);
    }
    begun.unwrap_or_else(|_| {
        tracing::error!("no plan can be made: the turn goes on without");
        pipeline.metrics.stage_degraded.inc(Stage::Plan);
        None
    })
}

/// Things that nobody gave and no tool evidently finds out, from which on an outline may help (`procedures: auto`).
const LACKING: usize = 2;

/// Can a plan be followed at all, or past solutions used? Not without tools, nor where calls may not be made or only of some tools, nor where there is no one
/// conversation to go on with; and in the legacy form calls have no ids by which a plan could be found again.
fn may_plan(turn: &Turn, offering: &Offering) -> bool {
    turn.policy.mode == Mode::Guard
        && (turn.policy.plan != PlanMode::Off || turn.policy.procedures != ProceduresMode::Off)
        && turn.request.choice_count() == 1
        && matches!(turn.request.tool_choice(), ToolChoice::Auto | ToolChoice::Required)
        && !turn.request.is_legacy()
        && offering.offer().is_judged()
}

async fn begin(scene: &mut Scene<'_>) -> Option<Course> {
    let (mode, past) = (scene.turn.policy.plan, Past::of(scene.turn));
    if mode == PlanMode::Off && past.is_none() {
        return None;
    }
    if mode != PlanMode::Off
        && let Some(course) = resume::resume(scene).await
    {
        return Some(course);
    }
    let request = asked_now(&scene.turn.request)?;
    let ground = PlanGround::of(scene.pipeline, scene.turn, scene.offering);
    let is_outlined = past.as_ref().is_some_and(Past::is_always);
    // Both rules ask for keys that nobody gave.
    if mode != PlanMode::Always && !is_outlined && !ground.requires_key() {
        return None;
    }
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
    let sketch = Sketch { ground: &ground, asked: &asked, conversation: &conversation, outline: &outline };
    drawing::begin(scene, &sketch, reason, procedure).await
}

/// Why a plan is drawn, where one is; and does the request lack several things that no tool evidently finds out?
async fn needed(
    scene: &Scene<'_>,
    ground: &PlanGround,
    conversation: &[Message],
    request: &str,
    has_past: bool,
) -> (Option<String>, bool) {
    let mode = scene.turn.policy.plan;
    if mode != PlanMode::Auto && !has_past {
        return ((mode == PlanMode::Always).then(String::new), false);
    }
    // A simple turn is not to wait for vectors.
    let asked = ground.ask_at_once(scene.pipeline, scene.turn, request).await;
    let sketch = Sketch { ground, asked: &asked, conversation, outline: &[] };
    let reason = match mode {
        PlanMode::Off => None,
        PlanMode::Always => Some(String::new()),
        PlanMode::Auto => reason(&sketch),
    };
    (reason, has_past && lacking(&sketch.occasion()) >= LACKING)
}

/// Why the request needs a plan; `None` where it needs none.
fn reason(sketch: &Sketch<'_>) -> Option<String> {
    let why = needs_plan(&sketch.occasion())?;
    let name = |position| sketch.ground.tool(position).map(|tool| tool.tool.name().to_owned()).unwrap_or_default();
    Some(format!("nobody gave `{}` of {}, and {} supplies it", why.argument, name(why.tool), name(why.producer.tool)))
}

/// What the plan says next, as a model's answer; `None` where the upstream is to be asked.
pub(crate) async fn speak(
    pipeline: &Pipeline,
    turn: &mut Turn,
    (offering, draft): (&mut Offering, &mut Draft),
    course: &mut Option<Course>,
    purpose: Purpose,
) -> Option<Completion> {
    let course = course.as_mut().filter(|course| course.is_under_way())?;
    let mut scene = Scene { pipeline, turn, offering, draft };
    let said = AssertUnwindSafe(speak::speak(&mut scene, course, purpose)).catch_unwind().await;
    said.unwrap_or_else(|_| {
        tracing::error!("a plan breaks: the turn goes on without");
        pipeline.metrics.stage_degraded.inc(Stage::Plan);
        course.end(PlanResult::GivenUp, "");
        None
    })
}

/// Is what the plan said right? If it is faulty, the plan is given up, and the upstream is asked. (Unless the proxy runs it, the client
/// sees no more of it.)
pub(crate) fn accepts(turn: &mut Turn, course: &mut Option<Course>, judged: &JudgedAnswer) -> bool {
    let Some(course) = course else { return false };
    let is_right = judged.diagnoses().next().is_none();
    if is_right {
        course.said(judged)
    } else {
        course.refuse(judged)
    }
    course.note(turn);
    is_right
}

/// What the user asks for in this turn; `None` where it is not the user's that speaks, as while tools are called.
fn asked_now(request: &ChatRequest) -> Option<String> {
    let messages = request.messages();
    let last = messages.iter().rev().find(|message| !matches!(message.role.as_ref(), "system" | "developer"))?;
    let text = last.text.as_deref().filter(|_| last.role == "user")?;
    (!text.trim().is_empty()).then(|| text.to_owned())
}
