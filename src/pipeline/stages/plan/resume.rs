//! Resumption of a plan when the client returns, compared with the client's actions.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::pipeline::services::Pipeline;
use crate::pipeline::state::{PlanRun, Turn, WaitingPlan, value_of};
use callwright_plan::generation::{GenerationError, Renewal};
use callwright_plan::progress::{ProgressStep, SeenCall};
use callwright_store::PlanRow;
use callwright_telemetry::labels::Stage;
use callwright_types::{DeviationKind, Plan, PlanDeviation, PlanResult, ids};
use callwright_wire::MessageView;

use super::drawing::{renew, result_of};
use super::keep::{ended, question_key};
use super::metered::StageContext;

/// Maximum number of plans per conversation that are looked up.
const MAX_PLANS: usize = 16;

/// Facts from a conversation about a plan that waits for it.
struct PlanReturn {
    /// All calls since the plan's first one.
    seen: Vec<SeenCall>,
    /// Whether the last message answers a question of the plan.
    is_answer: bool,
    /// Whether the user wrote a message after the plan's last call.
    user_spoke: bool,
    /// Whether the client wrote its own answer after the plan's last call.
    client_answered: bool,
}

/// Finds the plan that waits for this conversation, and applies the client's actions to it.
pub(super) async fn resume(context: &mut StageContext<'_>) -> Option<PlanRun> {
    let (mut plan_run, returned) = found(context.pipeline, context.turn).await?;
    let plan = plan_run.waiting.progress.plan();
    context.offer(plan.nodes().iter().map(|node| node.tool.as_str()));
    let offer = context.offering.offer.clone();
    plan_run.note.deviations = plan_run.waiting.progress.follow(&returned.seen, |tool| !offer.is_proxys(tool));
    if plan_run.waiting.progress.plan().finals().is_empty() {
        return dropped(context, plan_run, &returned).await;
    }
    let is_done = plan_run.waiting.progress.next() == ProgressStep::Done;
    if is_done && (returned.user_spoke || returned.client_answered) {
        // The plan ended in an earlier turn.
        ended(context.pipeline, context.turn, &plan_run).await;
        return None;
    }
    if returned.client_answered {
        plan_run.note.deviations.push(PlanDeviation { kind: DeviationKind::AnsweredItself, call: String::new() });
        return dropped(context, plan_run, &returned).await;
    }
    if returned.is_answer && !plan_run.waiting.unapproved {
        answered(context, &mut plan_run).await;
    } else if returned.user_spoke || returned.is_answer {
        plan_run.waiting.unapproved = false;
        spoken(context, &mut plan_run).await;
    }
    plan_run.note(context.turn);
    Some(plan_run)
}

/// Drops a plan that the client did not follow. A new user request may need a plan of its own.
async fn dropped(context: &mut StageContext<'_>, mut plan_run: PlanRun, returned: &PlanReturn) -> Option<PlanRun> {
    plan_run.end(PlanResult::Dropped, "");
    plan_run.note(context.turn);
    if !returned.user_spoke {
        return Some(plan_run);
    }
    ended(context.pipeline, context.turn, &plan_run).await;
    None
}

/// Regenerates the incomplete calls after the user answered the plan's question.
async fn answered(context: &mut StageContext<'_>, plan_run: &mut PlanRun) {
    let missing: BTreeSet<String> =
        plan_run.waiting.progress.plan().missing().map(|input| input.node.label.clone()).collect();
    let labels: Vec<String> = missing.into_iter().collect();
    let renewed = renew(context, plan_run, Renewal::Calls { labels: &labels }, false).await;
    if let Err(undrawn) = renewed {
        plan_run.end(result_of(&undrawn), undrawn.to_string());
    }
}

/// Selects the goals again after an unexpected user message, and keeps the useful parts.
async fn spoken(context: &mut StageContext<'_>, plan_run: &mut PlanRun) {
    let before = plan_run.waiting.progress.plan().clone();
    match renew(context, plan_run, Renewal::Goals, false).await {
        Ok(()) => plan_run.note.deviations.extend(changed_goals(&before, plan_run.waiting.progress.plan())),
        Err(GenerationError::NoTool) => {
            plan_run.note.deviations.push(PlanDeviation { kind: DeviationKind::GoalDropped, call: String::new() });
            plan_run.end(PlanResult::Dropped, "");
        }
        Err(undrawn) => plan_run.end(result_of(&undrawn), undrawn.to_string()),
    }
}

fn changed_goals(before: &Plan, after: &Plan) -> Vec<PlanDeviation> {
    let mut changed = missing_goals(before, after, DeviationKind::GoalDropped);
    changed.extend(missing_goals(after, before, DeviationKind::GoalAdded));
    changed
}

/// Returns the goals of a plan that another plan lacks.
fn missing_goals(plan: &Plan, other: &Plan, kind: DeviationKind) -> Vec<PlanDeviation> {
    let missing = plan.finals().iter().filter(|label| !other.finals().contains(label));
    missing.map(|label| PlanDeviation { kind, call: label.clone() }).collect()
}

/// Finds the plan that waits for this conversation.
async fn found(pipeline: &Pipeline, turn: &Turn) -> Option<(PlanRun, PlanReturn)> {
    let messages = turn.request.messages();
    let handles = handles(&messages);
    let question = match is_after_answer(&messages) && pipeline.caches.waiting_plans.any(&pipeline.store).await {
        true => question(&messages),
        false => None,
    };
    let keys: Vec<String> = question.iter().cloned().chain(handles).take(MAX_PLANS).collect();
    if keys.is_empty() {
        return None;
    }
    let rows = pipeline.store.plans(turn.tenant(), &keys).await;
    let rows = pipeline.stored(rows, Stage::Plan, "cannot read stored plans: the turn continues without a plan")?;
    let row = rows.into_iter().next()?;
    let is_answer = Some(&row.key) == question.as_ref();
    let waiting = read(pipeline, &row)?;
    let failed: Vec<&str> = turn.record.trace.observed.iter().map(|observation| observation.call.id.as_str()).collect();
    let returned = returned(&messages, waiting.progress.handle(), is_answer, &failed);
    Some((PlanRun::found(waiting, row.key), returned))
}

fn read(pipeline: &Pipeline, row: &PlanRow) -> Option<WaitingPlan> {
    serde_json::from_str(&row.document)
        .inspect_err(|error| {
            tracing::warn!(turn = row.turn, %error, "the stored plan is invalid: the turn continues without a plan");
            pipeline.metrics.stage_degraded.inc(Stage::Plan);
        })
        .ok()
}

/// Returns the handles of plans whose calls the conversation may contain, latest first.
fn handles(messages: &[MessageView<'_>]) -> Vec<String> {
    let mut handles: Vec<String> = Vec::new();
    let calls = messages.iter().rev().flat_map(|message| message.calls.iter());
    for handle in calls.filter_map(|call| ids::handle_of(&call.id)) {
        if handles.len() < MAX_PLANS && !handles.iter().any(|known| known == handle) {
            handles.push(handle.to_owned());
        }
    }
    handles
}

/// Whether the last message is the user's, and follows a text of the model.
fn is_after_answer(messages: &[MessageView<'_>]) -> bool {
    let [.., answer, last] = messages else { return false };
    last.role == "user" && answer.role == "assistant" && answer.calls.is_empty()
}

/// Returns the key of a plan whose question the user answers now.
fn question(messages: &[MessageView<'_>]) -> Option<String> {
    let (_, before) = messages.split_last()?;
    let (question, before) = before.split_last()?;
    is_after_answer(messages).then(|| question_key(before.iter(), question.text.as_deref().unwrap_or_default()))
}

/// Extracts the client's actions on a plan from the conversation.
fn returned(messages: &[MessageView<'_>], handle: &str, is_answer: bool, failed: &[&str]) -> PlanReturn {
    let first = messages.iter().position(|message| has_calls_of(message, handle)).unwrap_or(messages.len());
    let last = messages.iter().rposition(|message| has_calls_of(message, handle)).unwrap_or(messages.len());
    let calls = messages.iter().skip(first).flat_map(|message| message.calls.iter());
    let seen = calls.map(|call| SeenCall {
        id: call.id.clone(),
        tool: call.name.clone(),
        arguments: serde_json::from_str(&call.arguments).unwrap_or(Value::Null),
        result: result_for(messages, &call.id),
        failed: failed.contains(&call.id.as_str()),
    });
    let seen = seen.collect();
    let after = messages.get(last..).unwrap_or_default();
    PlanReturn {
        seen,
        is_answer,
        user_spoke: !is_answer && has_text_of(after, "user"),
        client_answered: !is_answer && has_text_of(after, "assistant"),
    }
}

/// Whether a message has calls of the plan with this handle.
fn has_calls_of(message: &MessageView<'_>, handle: &str) -> bool {
    message.calls.iter().any(|call| ids::handle_of(&call.id) == Some(handle))
}

/// Returns the last result of the call with this id.
fn result_for(messages: &[MessageView<'_>], id: &str) -> Option<Value> {
    let answer = messages.iter().rev().find(|message| message.tool_call_id.as_deref() == Some(id))?;
    Some(value_of(answer.text.as_deref().unwrap_or_default().as_bytes()))
}

/// Whether a message of this role has a text and no calls.
fn has_text_of(messages: &[MessageView<'_>], role: &str) -> bool {
    let mut plain = messages.iter().filter(|message| message.role == role && message.calls.is_empty());
    plain.any(|message| message.text.as_deref().is_some_and(|text| !text.trim().is_empty()))
}
