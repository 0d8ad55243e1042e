//! Requests to the planning model, with their cost.

use std::sync::Arc;

use crate::pipeline::state::PlanRun;
use crate::pipeline::tools::PlanContext;
use callwright_plan::generation::{
    ChoiceInputs, ChoiceResult, GenerationError, GenerationOutcome, GenerationSettings, PlanInputs, PlanNeed,
    PresentPlan, Renewal, choose, generate_from_template, need, regenerate,
};
use callwright_plan::producers::RequestScores;
use callwright_plan::when::{EvidentlySupplied, needless_question};
use callwright_types::plan::Source;
use callwright_types::{Cost, Message, Plan, PlanResult, Procedure, Purpose, Speaker};

use super::metered::{MeteredModel, StageContext};

/// Input for plan generation in a turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlanSketch<'a> {
    pub(super) tools: &'a PlanContext,
    pub(super) scores: &'a RequestScores,
    pub(super) conversation: &'a [Message],
    /// Outline from similar requests.
    pub(super) outline: &'a [String],
}

impl PlanSketch<'_> {
    pub(super) fn inputs(&self) -> PlanInputs<'_> {
        PlanInputs {
            tools: self.tools,
            producers: &self.tools.indexed.producers,
            scores: self.scores,
            offered: &self.tools.offered,
            conversation: self.conversation,
            memory: &[],
            outline: self.outline,
        }
    }
}

/// Whether the planning model reports that the request takes a chain of calls.
pub(super) async fn is_chain(context: &mut StageContext<'_>, sketch: &PlanSketch<'_>) -> bool {
    let model = MeteredModel::new(context, Purpose::Plan);
    if !context.pipeline.caches.planner_backoff.admits(context.turn.tenant(), &model.name) {
        return false;
    }
    let mut settings = remaining_limits(context, Cost::default());
    // The question and one repair.
    settings.requests = settings.requests.min(2);
    let PlanNeed { is_chain, error, .. } = need(&sketch.inputs(), &model, &settings).await;
    if let Some(error) = error {
        tracing::debug!(%error, "the planning model does not report whether a plan is needed");
        report_unusable(context, &model, Some(&error));
    }
    model.charge(context);
    is_chain
}

/// Generates a plan, from a matching procedure if there is one. Without a plan, the trace has the reason, and the turn
/// continues without it. A planning model whose last results were unusable is skipped for some turns.
pub(super) async fn begin(
    context: &mut StageContext<'_>,
    sketch: &PlanSketch<'_>,
    reason: PlanReason,
    procedure: Option<Arc<Procedure>>,
) -> Option<PlanRun> {
    let model = MeteredModel::new(context, Purpose::Plan);
    if !context.pipeline.caches.planner_backoff.admits(context.turn.tenant(), &model.name) {
        let mut plan_run = PlanRun::begin(Plan::default(), reason.in_words(&Plan::default()));
        plan_run.end(PlanResult::BackedOff, "the planning model's last answers were unusable");
        plan_run.note(context.turn);
        return None;
    }
    let mut cost = Cost::default();
    let template = procedure.as_ref().map(|procedure| &procedure.plan);
    let settings = remaining_limits(context, cost);
    let drawn = generate_from_template(&sketch.inputs(), template, &model, &settings).await;
    let GenerationOutcome { result, from_template, notes, .. } = drawn;
    let unfit = result.as_ref().ok().and_then(|plan| unfitness(sketch, &reason, plan));
    if unfit.is_some() {
        context.pipeline.caches.planner_backoff.report(context.turn.tenant(), &model.name, false);
    } else {
        report_unusable(context, &model, result.as_ref().err());
    }
    cost.add(model.charge(context));
    let procedure = procedure.filter(|_| from_template);
    let (plan, undrawn) = match result {
        Ok(plan) => (plan, None),
        Err(undrawn) => (Plan::default(), Some(undrawn)),
    };
    let reason = reason.in_words(&plan);
    let mut plan_run = PlanRun::begin(plan, reason);
    (plan_run.note.cost, plan_run.note.notes) = (cost, notes);
    if let Some(procedure) = procedure {
        plan_run.waiting.procedure = Some(procedure.id.clone());
    }
    if let Some(undrawn) = &undrawn {
        plan_run.end(result_of(undrawn), undrawn.to_string());
    } else if let Some(unfit) = unfit {
        plan_run.end(PlanResult::GivenUp, unfit);
    }
    plan_run.note(context.turn);
    plan_run.is_under_way().then_some(plan_run)
}

/// Returns why the model's own answer is better than the plan, if it is.
fn unfitness(sketch: &PlanSketch<'_>, reason: &PlanReason, plan: &Plan) -> Option<String> {
    if let Some(EvidentlySupplied { argument, producer }) = needless_question(&sketch.inputs(), plan) {
        return Some(format!("the plan requests `{argument}` from the user, which {producer} supplies"));
    }
    reason.unserved_by(plan)
}

/// Records whether the planning model yielded something usable. A report that no tool serves the request, or a limit of
/// the turn, is no evidence about the model.
fn report_unusable(context: &StageContext<'_>, model: &MeteredModel, undrawn: Option<&GenerationError>) {
    let is_usable = match undrawn {
        None => true,
        Some(GenerationError::Unusable(_) | GenerationError::Unanswered(_) | GenerationError::GuessedKey { .. }) => {
            false
        }
        Some(GenerationError::NoTool | GenerationError::NotIndexed | GenerationError::Limit(_)) => return,
    };
    context.pipeline.caches.planner_backoff.report(context.turn.tenant(), &model.name, is_usable);
}

/// Requests the choice of a list item from the model.
pub(super) async fn choose_item(
    context: &mut StageContext<'_>,
    plan_run: &mut PlanRun,
    inputs: &ChoiceInputs<'_>,
) -> ChoiceResult {
    let model = MeteredModel::new(context, Purpose::Plan);
    let settings = remaining_limits(context, plan_run.note.cost);
    let chosen = choose(inputs, &model, &settings).await;
    plan_run.note.cost.add(model.charge(context));
    chosen
}

/// Returns the result in the trace for a plan that was not generated.
pub(super) fn result_of(undrawn: &GenerationError) -> PlanResult {
    match undrawn {
        GenerationError::Limit(_) => PlanResult::Limit,
        GenerationError::GuessedKey { .. } => PlanResult::GivenUp,
        GenerationError::NoTool
        | GenerationError::NotIndexed
        | GenerationError::Unusable(_)
        | GenerationError::Unanswered(_) => PlanResult::Undrawn,
    }
}

/// Returns the limits of the next model requests, after requests of this cost.
pub(super) fn remaining_limits(context: &StageContext<'_>, cost: Cost) -> GenerationSettings {
    let mut settings = GenerationSettings::within(&context.turn.policy.limits);
    settings.requests = settings.requests.saturating_sub(cost.requests);
    settings.tokens = settings.tokens.saturating_sub(cost.tokens());
    settings
}

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

/// Reason why a turn is planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PlanReason {
    /// Policy requires a plan.
    Always,
    /// The planning model reports a chain of calls.
    Reported,
    /// An argument is missing, and another tool supplies it.
    Missing {
        /// Tool that takes the argument.
        tool: String,
        argument: String,
        /// Tool that evidently supplies it.
        producer: String,
    },
}

impl PlanReason {
    /// Returns why a plan does not serve its reason: the tool with the missing argument is not called, or takes no value
    /// from another call. The model's own answer is at least as good as such a plan.
    pub(super) fn unserved_by(&self, plan: &Plan) -> Option<String> {
        let Self::Missing { tool, argument, .. } = self else { return None };
        let mut calls = plan.nodes().iter().filter(|node| node.tool == *tool).peekable();
        if calls.peek().is_none() {
            return Some(format!("the plan does not call {tool}, whose `{argument}` is missing"));
        }
        let takes_output = calls.any(|call| call.feeders().next().is_some());
        (!takes_output).then(|| format!("the plan takes no argument of {tool} from another call"))
    }

    /// Returns the reason in words. It names the tool that supplies the argument in the plan, which may be another one
    /// than the rule found.
    pub(super) fn in_words(&self, plan: &Plan) -> String {
        let Self::Missing { tool, argument, producer } = self else {
            return match self {
                Self::Reported => "the planning model reports that calls depend on one another".to_owned(),
                _ => String::new(),
            };
        };
        let mut nodes = plan.nodes().iter().filter(|node| node.tool == *tool);
        let Some(source) = nodes.find_map(|node| node.argument(argument)).map(|argument| &argument.source) else {
            // A plan without this argument may not use the tool that the rule found.
            return match plan.nodes() {
                [] => format!("`{argument}` of {tool} is missing, and {producer} supplies it"),
                _ => format!("`{argument}` of {tool} is missing"),
            };
        };
        let references = source.references();
        let feeder = references.first().and_then(|reference| plan.node(&reference.node));
        match (feeder, source) {
            (Some(feeder), _) => format!("`{argument}` of {tool} is missing, and {} supplies it", feeder.tool),
            // Another argument takes the value of the earlier step.
            (None, Source::Value { .. }) => format!("{tool} takes a value that {producer} supplies"),
            (None, _) => format!("`{argument}` of {tool} is missing"),
        }
    }
}
