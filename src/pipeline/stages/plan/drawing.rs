//! Asks the model that draws plans, and keeps account of what that costs.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::domain::trace::Attempt;
use crate::domain::{Cost, Message, Plan, PlanResult, Usage};
use crate::pipeline::plan_ground::PlanGround;
use crate::pipeline::record::milliseconds;
use crate::planner::drawing::{
    AskError, Chance, Chosen, DrawSettings, Drawn, Occasion, PlanningModel, Present, Question, Renewal, Reply, Undrawn,
    choose, draw, redraw,
};
use crate::planner::producers::Asked;
use crate::telemetry::labels::{Label, Purpose};
use crate::upstream::TextModel;

use super::course::Course;
use super::scene::Scene;

/// What a plan is drawn from in a turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sketch<'a> {
    pub(super) ground: &'a PlanGround,
    pub(super) asked: &'a Asked,
    pub(super) conversation: &'a [Message],
}

impl Sketch<'_> {
    pub(super) fn occasion(&self) -> Occasion<'_> {
        Occasion {
            tools: self.ground,
            producers: self.ground.producers(),
            asked: self.asked,
            offered: self.ground.offered(),
            conversation: self.conversation,
            memory: &[],
        }
    }
}

/// Draws a plan. Where there is none, the trace tells why, and the turn goes on without.
pub(super) async fn begin(scene: &mut Scene<'_>, sketch: &Sketch<'_>, reason: String) -> Option<Course> {
    let mut cost = Cost::default();
    let draw = async |model: &Metered, settings: &DrawSettings| draw(&sketch.occasion(), model, settings).await;
    let Drawn { result, notes, .. } = asking(scene, &mut cost, draw).await;
    let (plan, undrawn) = match result {
        Ok(plan) => (plan, None),
        Err(undrawn) => (Plan::default(), Some(undrawn)),
    };
    let mut course = Course::begin(plan, reason);
    (course.cost, course.notes) = (cost, notes);
    if let Some(undrawn) = &undrawn {
        course.end(result_of(undrawn), undrawn.to_string());
    }
    course.note(scene.turn);
    undrawn.is_none().then_some(course)
}

/// Draws a part of a course's plan anew; `mends` tells whether something had failed.
///
/// # Errors
/// [`Undrawn`]: there is no plan any more.
pub(super) async fn renew(
    scene: &mut Scene<'_>,
    course: &mut Course,
    sketch: &Sketch<'_>,
    renewal: Renewal<'_>,
    mends: bool,
) -> Result<(), Undrawn> {
    let (plan, made) = (course.waiting.progress.plan().clone(), course.waiting.progress.made());
    let present = Present { plan: &plan, made: &made };
    let draw = async |model: &Metered, settings: &DrawSettings| {
        redraw(&sketch.occasion(), &present, &renewal, model, settings).await
    };
    let Drawn { result, notes, .. } = asking(scene, &mut course.cost, draw).await;
    course.notes.extend(notes);
    course.waiting.progress.replace(result?, mends);
    Ok(())
}

/// Asks which item of a list is meant.
pub(super) async fn choose_item(scene: &mut Scene<'_>, course: &mut Course, chance: &Chance<'_>) -> Chosen {
    let ask = async |model: &Metered, settings: &DrawSettings| choose(chance, model, settings).await;
    asking(scene, &mut course.cost, ask).await
}

/// What ending a plan without a result means for the trace.
pub(super) fn result_of(undrawn: &Undrawn) -> PlanResult {
    match undrawn {
        Undrawn::Limit(_) => PlanResult::Limit,
        Undrawn::Nothing | Undrawn::Unusable(_) | Undrawn::Unanswered(_) => PlanResult::Undrawn,
    }
}

/// Runs something that asks the model, within what is left of the limits; what it cost goes into the trace and is added to `cost`.
async fn asking<T>(scene: &mut Scene<'_>, cost: &mut Cost, run: impl AsyncFnOnce(&Metered, &DrawSettings) -> T) -> T {
    let (pipeline, turn) = (scene.pipeline, &mut *scene.turn);
    let limits = &turn.policy.limits;
    let mut settings = pipeline.planner.drawing(limits);
    settings.requests = settings.requests.saturating_sub(cost.requests);
    settings.tokens = settings.tokens.saturating_sub(cost.tokens());
    let (model, upstream) = pipeline.planning_model(turn);
    let model = Metered {
        // The upstream decides which of the client's fields it takes.
        model: model.for_client(turn.headers.clone()),
        upstream,
        attempts: Mutex::default(),
        cancelled: turn.cancelled.clone(),
        deadline: Duration::from_secs(limits.seconds).saturating_sub(turn.record.elapsed()),
        started: Instant::now(),
    };
    let result = run(&model, &settings).await;
    for (attempt, took, spent) in model.attempts.into_inner().unwrap_or_else(PoisonError::into_inner) {
        cost.add(spent);
        turn.record.attempt(attempt, took);
    }
    result
}

/// The model that draws plans, with what asking it costs.
#[derive(Debug)]
struct Metered {
    model: TextModel,
    upstream: String,
    attempts: Mutex<Vec<(Attempt, Duration, Cost)>>,
    cancelled: CancellationToken,
    /// Time that is left of the turn's.
    deadline: Duration,
    started: Instant,
}

impl PlanningModel for Metered {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Result<Reply, AskError>> {
        Box::pin(async move {
            let left = self.deadline.saturating_sub(self.started.elapsed());
            let started = Instant::now();
            let asked = tokio::select! {
                biased;
                () = self.cancelled.cancelled() => Err(AskError("the client went away".to_owned())),
                asked = tokio::time::timeout(left, PlanningModel::ask(&self.model, question)) => {
                    asked.unwrap_or_else(|_| Err(AskError("the turn's time is up".to_owned())))
                }
            };
            self.note(&asked, started.elapsed());
            asked
        })
    }
}

impl Metered {
    fn note(&self, asked: &Result<Reply, AskError>, took: Duration) {
        let tokens = |count: Option<u64>| count.unwrap_or_default();
        let (outcome, requests, usage) = match asked {
            Ok(reply) => {
                let (prompt, completion) = (tokens(reply.prompt_tokens), tokens(reply.completion_tokens));
                let total_tokens = prompt.saturating_add(completion);
                let usage = Usage { prompt_tokens: prompt, completion_tokens: completion, total_tokens };
                ("success", reply.requests, usage)
            }
            Err(_) => ("other", 1, Usage::default()),
        };
        let attempt = Attempt::unjudged(Purpose::Plan.label(), &self.upstream, outcome, usage, milliseconds(took));
        let cost = Cost { requests, prompt_tokens: usage.prompt_tokens, completion_tokens: usage.completion_tokens };
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner).push((attempt, took, cost));
    }
}
