//! Requests to the planning model, with their cost.

use std::sync::Arc;

use crate::pipeline::state::PlanRun;
use crate::pipeline::tools::PlanContext;
use callwright_knowledge::planner::drawing::{
    Chance, Chosen, DrawSettings, Drawn, Occasion, Present, Renewal, Undrawn, choose, draw_from, redraw,
};
use callwright_knowledge::planner::producers::Asked;
use callwright_telemetry::labels::Purpose;
use callwright_types::{Cost, Message, Plan, PlanResult, Procedure};

use super::metered::MeteredModel;
use super::stage_context::StageContext;

/// Input for plan generation in a turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlanSketch<'a> {
    pub(super) tools: &'a PlanContext,
    pub(super) asked: &'a Asked,
    pub(super) conversation: &'a [Message],
    /// Outline from similar requests.
    pub(super) outline: &'a [String],
}

impl PlanSketch<'_> {
    pub(super) fn occasion(&self) -> Occasion<'_> {
        Occasion {
            tools: self.tools,
            producers: self.tools.producers(),
            asked: self.asked,
            offered: self.tools.offered(),
            conversation: self.conversation,
            memory: &[],
            outline: self.outline,
        }
    }
}

/// Generates a plan, from a matching procedure if there is one. Without a plan, the trace has the reason, and the turn
/// continues without it.
pub(super) async fn begin(
    context: &mut StageContext<'_>,
    sketch: &PlanSketch<'_>,
    reason: String,
    procedure: Option<Arc<Procedure>>,
) -> Option<PlanRun> {
    let mut cost = Cost::default();
    let template = procedure.as_ref().map(|procedure| &procedure.plan);
    let model = MeteredModel::new(context, Purpose::Plan);
    let settings = remaining_limits(context, cost);
    let drawn = draw_from(&sketch.occasion(), template, &model, &settings).await;
    cost.add(model.charge(context));
    let Drawn { result, from_template, notes, .. } = drawn;
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
    plan_run.note(context.turn);
    undrawn.is_none().then_some(plan_run)
}

/// Generates a part of the plan again; `mends` is whether a call had failed.
///
/// # Errors
/// [`Undrawn`] if there is no plan any more.
pub(super) async fn renew(
    context: &mut StageContext<'_>,
    plan_run: &mut PlanRun,
    sketch: &PlanSketch<'_>,
    renewal: Renewal<'_>,
    mends: bool,
) -> Result<(), Undrawn> {
    let (plan, made) = (plan_run.waiting.progress.plan().clone(), plan_run.waiting.progress.made());
    let present = Present { plan: &plan, made: &made };
    let model = MeteredModel::new(context, Purpose::Plan);
    let settings = remaining_limits(context, plan_run.cost);
    let drawn = redraw(&sketch.occasion(), &present, &renewal, &model, &settings).await;
    plan_run.cost.add(model.charge(context));
    let Drawn { result, notes, .. } = drawn;
    plan_run.notes.extend(notes);
    plan_run.waiting.progress.replace(result?, mends);
    Ok(())
}

/// Requests the choice of a list item from the model.
pub(super) async fn choose_item(context: &mut StageContext<'_>, plan_run: &mut PlanRun, chance: &Chance<'_>) -> Chosen {
    let model = MeteredModel::new(context, Purpose::Plan);
    let settings = remaining_limits(context, plan_run.cost);
    let chosen = choose(chance, &model, &settings).await;
    plan_run.cost.add(model.charge(context));
    chosen
}

/// Returns the result in the trace for a plan that was not generated.
pub(super) fn result_of(undrawn: &Undrawn) -> PlanResult {
    match undrawn {
        Undrawn::Limit(_) => PlanResult::Limit,
        Undrawn::Nothing | Undrawn::Unusable(_) | Undrawn::Unanswered(_) => PlanResult::Undrawn,
    }
}

/// Returns the limits of the next model requests, after requests of this cost.
fn remaining_limits(context: &StageContext<'_>, cost: Cost) -> DrawSettings {
    let mut settings = context.pipeline.planner.drawing(&context.turn.policy.limits);
    settings.requests = settings.requests.saturating_sub(cost.requests);
    settings.tokens = settings.tokens.saturating_sub(cost.tokens());
    settings
}
