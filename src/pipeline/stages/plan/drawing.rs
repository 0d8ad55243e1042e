//! Requests to the planning model, with their cost.

use std::sync::Arc;

use crate::pipeline::plan_context::PlanContext;
use callwright_knowledge::planner::drawing::{
    Chance, Chosen, DrawSettings, Drawn, Occasion, Present, Renewal, Undrawn, choose, draw_from, redraw,
};
use callwright_knowledge::planner::producers::Asked;
use callwright_telemetry::labels::Purpose;
use callwright_types::{Cost, Message, Plan, PlanResult, Procedure};

use super::metered::MeteredModel;
use super::plan_run::PlanRun;
use super::stage_context::StageContext;

/// Input for plan generation in a turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlanSketch<'a> {
    pub(super) ground: &'a PlanContext,
    pub(super) asked: &'a Asked,
    pub(super) conversation: &'a [Message],
    /// Outline from similar requests.
    pub(super) outline: &'a [String],
}

impl PlanSketch<'_> {
    pub(super) fn occasion(&self) -> Occasion<'_> {
        Occasion {
            tools: self.ground,
            producers: self.ground.producers(),
            asked: self.asked,
            offered: self.ground.offered(),
            conversation: self.conversation,
            memory: &[],
            outline: self.outline,
        }
    }
}

/// Generates a plan, from a matching procedure if there is one. Without a plan, the trace has the reason, and the turn
/// continues without it.
pub(super) async fn begin(
    scene: &mut StageContext<'_>,
    sketch: &PlanSketch<'_>,
    reason: String,
    procedure: Option<Arc<Procedure>>,
) -> Option<PlanRun> {
    let mut cost = Cost::default();
    let template = procedure.as_ref().map(|procedure| &procedure.plan);
    let draw = async |model: &MeteredModel, settings: &DrawSettings| {
        draw_from(&sketch.occasion(), template, model, settings).await
    };
    let Drawn { result, from_template, notes, .. } = asking(scene, &mut cost, draw).await;
    let procedure = procedure.filter(|_| from_template);
    let (plan, undrawn) = match result {
        Ok(plan) => (plan, None),
        Err(undrawn) => (Plan::default(), Some(undrawn)),
    };
    let mut plan_run = PlanRun::begin(plan, reason);
    (plan_run.cost, plan_run.notes) = (cost, notes);
    if let Some(procedure) = procedure {
        plan_run.waiting.procedure = Some(procedure.id.clone());
    }
    if let Some(undrawn) = &undrawn {
        plan_run.end(result_of(undrawn), undrawn.to_string());
    }
    plan_run.note(scene.turn);
    undrawn.is_none().then_some(plan_run)
}

/// Generates a part of the plan again; `mends` is whether a call had failed.
///
/// # Errors
/// [`Undrawn`] if there is no plan any more.
pub(super) async fn renew(
    scene: &mut StageContext<'_>,
    plan_run: &mut PlanRun,
    sketch: &PlanSketch<'_>,
    renewal: Renewal<'_>,
    mends: bool,
) -> Result<(), Undrawn> {
    let (plan, made) = (plan_run.waiting.progress.plan().clone(), plan_run.waiting.progress.made());
    let present = Present { plan: &plan, made: &made };
    let draw = async |model: &MeteredModel, settings: &DrawSettings| {
        redraw(&sketch.occasion(), &present, &renewal, model, settings).await
    };
    let Drawn { result, notes, .. } = asking(scene, &mut plan_run.cost, draw).await;
    plan_run.notes.extend(notes);
    plan_run.waiting.progress.replace(result?, mends);
    Ok(())
}

/// Requests the choice of a list item from the model.
pub(super) async fn choose_item(scene: &mut StageContext<'_>, plan_run: &mut PlanRun, chance: &Chance<'_>) -> Chosen {
    let ask = async |model: &MeteredModel, settings: &DrawSettings| choose(chance, model, settings).await;
    asking(scene, &mut plan_run.cost, ask).await
}

/// Returns the result in the trace for a plan that was not generated.
pub(super) fn result_of(undrawn: &Undrawn) -> PlanResult {
    match undrawn {
        Undrawn::Limit(_) => PlanResult::Limit,
        Undrawn::Nothing | Undrawn::Unusable(_) | Undrawn::Unanswered(_) => PlanResult::Undrawn,
    }
}

/// Runs model requests within the remaining limits. Records their cost in the trace and adds it to `cost`.
async fn asking<T>(
    scene: &mut StageContext<'_>,
    cost: &mut Cost,
    run: impl AsyncFnOnce(&MeteredModel, &DrawSettings) -> T,
) -> T {
    let mut settings = scene.pipeline.planner.drawing(&scene.turn.policy.limits);
    settings.requests = settings.requests.saturating_sub(cost.requests);
    settings.tokens = settings.tokens.saturating_sub(cost.tokens());
    let model = MeteredModel::of(scene, Purpose::Plan);
    let result = run(&model, &settings).await;
    cost.add(model.charge(scene));
    result
}
