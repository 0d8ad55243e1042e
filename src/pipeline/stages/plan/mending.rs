//! Partial regeneration of a plan after a failed call or a user message.

use crate::pipeline::state::PlanRun;
use crate::pipeline::tools::PlanContext;
use callwright_knowledge::planner::generation::{GenerationError, PresentPlan, Renewal, regenerate};
use callwright_types::{PlanResult, Purpose, Speaker};

use super::drawing::{PlanSketch, remaining_limits, result_of};
use super::metered::MeteredModel;
use super::stage_context::StageContext;

/// Regenerates a call that failed or cannot be made, at most as often as the limit of dynamic feedback rounds.
pub(super) async fn mend(context: &mut StageContext<'_>, plan_run: &mut PlanRun, label: String, why: String) {
    if plan_run.waiting.progress.repairs() >= context.turn.policy.limits.dynamic_feedback {
        return plan_run.end(PlanResult::GivenUp, why);
    }
    let before = plan_run.waiting.progress.plan().clone();
    let labels = [label];
    match renew(context, plan_run, Renewal::Calls { labels: &labels }, true).await {
        Err(undrawn) => plan_run.end(result_of(&undrawn), format!("{why}; {undrawn}")),
        // The same call would fail again.
        Ok(()) if *plan_run.waiting.progress.plan() == before => {
            plan_run.end(PlanResult::GivenUp, format!("{why}, and there is no alternative"));
        }
        Ok(()) => plan_run.note.notes.push(why),
    }
}

/// Regenerates a part of the plan from the current conversation; `mends` is whether a call had failed.
///
/// # Errors
/// [`GenerationError`] if there is no plan any more.
pub(super) async fn renew(
    context: &mut StageContext<'_>,
    plan_run: &mut PlanRun,
    renewal: Renewal<'_>,
    mends: bool,
) -> Result<(), GenerationError> {
    let tools = PlanContext::new(context.pipeline, context.turn, context.offering).await;
    let tools = tools.ok_or(GenerationError::NotIndexed)?;
    let conversation = context.conversation();
    let last = conversation.iter().rev().find(|message| message.speaker == Speaker::User);
    let request = last.map_or("", |message| message.text.as_str());
    let scores = tools.analyse(context.pipeline, context.turn, request).await;
    let sketch = PlanSketch { tools: &tools, scores: &scores, conversation: &conversation, outline: &[] };
    let (plan, executed) = (plan_run.waiting.progress.plan().clone(), plan_run.waiting.progress.answered_calls());
    let present = PresentPlan { plan: &plan, executed: &executed };
    let model = MeteredModel::new(context, Purpose::Plan);
    let settings = remaining_limits(context, plan_run.note.cost);
    let drawn = regenerate(&sketch.inputs(), &present, &renewal, &model, &settings).await;
    plan_run.note.cost.add(model.charge(context));
    plan_run.note.notes.extend(drawn.notes);
    plan_run.waiting.progress.replace(drawn.result?, mends);
    Ok(())
}
