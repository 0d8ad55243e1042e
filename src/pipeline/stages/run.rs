//! Run and explain: checked calls that the proxy owns → outcomes, failed ones with the documentation's explanation, all of
//! them as results for the model.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream;

use crate::catalog::{Operation, Toolset};
use crate::domain::trace::{Execution, Round};
use crate::domain::{ApprovalNote, ApprovalStatus, Call, Explanation, OperationRef, Outcome, Owner};
use crate::feedback::{self, FailedOutcome};
use crate::pipeline::Pipeline;
use crate::pipeline::dialogue::{Purpose, Step};
use crate::pipeline::record::milliseconds;
use crate::pipeline::turn::Turn;
use crate::scanner::CheckedCall;
use crate::telemetry::labels::Stage;

use super::approve::{self, Decision, Leave};
use super::compose::Draft;
use super::judge::{JudgedAnswer, action};

/// What executing the calls of an answer gave.
#[derive(Debug)]
pub(crate) struct Ran {
    results: Vec<RanCall>,
}

#[derive(Debug)]
struct RanCall {
    checked: CheckedCall,
    outcome: Outcome,
    /// `None` where the outcome is no failure of the API's.
    explanation: Option<Explanation>,
    /// Has the model to find another way?
    failed: bool,
}

impl Ran {
    /// Did any call fail?
    pub(crate) fn any_failed(&self) -> bool {
        self.results.iter().any(|ran| ran.failed)
    }
}

/// Executes calls of the proxy's, some side by side. What was sent is finished even when the client goes away.
pub(crate) async fn run(pipeline: &Pipeline, turn: &mut Turn, calls: Vec<CheckedCall>) -> Ran {
    let started = Instant::now();
    let side_by_side = turn.policy.limits.parallel_calls.max(1) as usize;
    let shared: &Turn = turn;
    let mut leaves = Vec::with_capacity(calls.len());
    for checked in &calls {
        leaves.push(leave(pipeline, shared, checked).await);
    }
    let executed: Vec<(RanCall, Execution)> = stream::iter(calls.into_iter().zip(leaves))
        .map(|(checked, leave)| execute(pipeline, shared, checked, leave))
        .buffered(side_by_side)
        .collect()
        .await;
    let (results, executions) = executed.into_iter().unzip();
    turn.record.executions(executions, started.elapsed());
    Ran { results }
}

/// May the call be executed? Where a person has to say so, they are asked.
async fn leave(pipeline: &Pipeline, turn: &Turn, checked: &CheckedCall) -> Leave {
    match operation(turn, checked) {
        Some((_, toolset, operation)) => approve::ask(pipeline, turn, checked, (operation, toolset)).await,
        // Nobody is asked about what is not there; it is refused in its turn.
        None => Leave::Free,
    }
}

async fn execute(pipeline: &Pipeline, turn: &Turn, checked: CheckedCall, leave: Leave) -> (RanCall, Execution) {
    let decision = approve::decision(pipeline, turn, leave).await;
    let started = Instant::now();
    let found = operation(turn, &checked);
    let (outcome, approval) =
        carry_out(pipeline, turn, &checked, found.map(|(_, toolset, operation)| (toolset, operation)), decision).await;
    let explanation = match &found {
        Some((reference, ..)) => explained(pipeline, turn, reference, &outcome, &checked).await,
        None => None,
    };
    let failed = explanation.is_some() || is_in_the_way(turn, &outcome);
    let execution = trace_of(
        &checked,
        found.as_ref().map(|(_, toolset, operation)| (*toolset, *operation)),
        &outcome,
        approval,
        explanation.clone(),
        started.elapsed(),
    );
    (RanCall { checked, outcome, explanation, failed }, execution)
}

/// What the documentation says about an outcome, where it is a failure of the API's.
async fn explained(
    pipeline: &Pipeline,
    turn: &Turn,
    operation: &OperationRef,
    outcome: &Outcome,
    checked: &CheckedCall,
) -> Option<Explanation> {
    let explainer = &turn.snapshot.explainer;
    let started = Instant::now();
    explainer.failure(operation, outcome, &turn.policy.explain.failures)?;
    let explanation = explainer.explain(operation, outcome, checked.arguments()).await;
    pipeline.metrics.overhead.observe(Stage::Explain, started.elapsed());
    Some(explanation)
}

/// The outcome of a call about which it was decided, or need not be, and the approval that was asked for.
async fn carry_out(
    pipeline: &Pipeline,
    turn: &Turn,
    checked: &CheckedCall,
    found: Option<(&Toolset, &Operation)>,
    decision: Decision,
) -> (Outcome, Option<ApprovalNote>) {
    let Some((toolset, operation)) = found else {
        return (Outcome::Refused { reason: "the tool is no longer in the catalog".to_owned() }, None);
    };
    let trace = turn.record.trace();
    let (session, id) = (trace.session.as_deref(), &trace.id);
    let executor = &pipeline.executor;
    let (outcome, used) = match decision {
        Decision::Settled(outcome) => (outcome, None),
        Decision::Free => {
            (executor.execute(checked, operation, toolset, &turn.policy.execute, session, id).await, None)
        }
        Decision::Approved(note) => {
            let grant = pipeline.approvals.grant(&note.id);
            let outcome = executor.execute_approved(checked, operation, toolset, grant, session, id).await;
            (outcome, Some(ApprovalNote { status: ApprovalStatus::Used, ..note }))
        }
    };
    let note = if let Outcome::Unapproved(note) = &outcome { Some(note.clone()) } else { used };
    (outcome, note)
}

/// Is the outcome one with which the model must not go on as it was? What waits for a person is not, unless the model calls it again
/// all the same.
fn is_in_the_way(turn: &Turn, outcome: &Outcome) -> bool {
    let Outcome::Unapproved(note) = outcome else { return false };
    let earlier = &turn.record.trace().executions;
    let told = |execution: &Execution| execution.approval.as_ref().is_some_and(|earlier| earlier.id == note.id);
    note.status != ApprovalStatus::Pending || earlier.iter().any(told)
}

fn operation<'a>(turn: &'a Turn, checked: &'a CheckedCall) -> Option<(&'a OperationRef, &'a Toolset, &'a Operation)> {
    let Owner::Proxy(reference) = &checked.tool().tool.owner else { return None };
    let toolset = turn.snapshot.catalog.toolset(&reference.toolset)?;
    Some((reference, toolset, turn.snapshot.catalog.operation(reference)?))
}

fn trace_of(
    checked: &CheckedCall,
    found: Option<(&Toolset, &Operation)>,
    outcome: &Outcome,
    approval: Option<ApprovalNote>,
    explanation: Option<Explanation>,
    took: Duration,
) -> Execution {
    Execution {
        call: checked.call().clone(),
        toolset: found.map(|(toolset, _)| toolset.name.clone()).unwrap_or_default(),
        operation: found.map(|(_, operation)| format!("{} {}", operation.method, operation.path)).unwrap_or_default(),
        outcome: outcome.label().to_owned(),
        status: outcome.status(),
        body: match outcome {
            Outcome::Answered(answer) => Some(feedback::answer::recorded(answer)),
            Outcome::Unreachable { reason } | Outcome::Unknown { reason } | Outcome::Refused { reason } => {
                Some(reason.clone())
            }
            Outcome::Unapproved(_) => None,
        },
        approval,
        explanation,
        duration_ms: milliseconds(took),
    }
}

/// The results as the model reads them: what succeeded as it is, what failed with its explanation (dynamic feedback).
pub(crate) fn texts(pipeline: &Pipeline, turn: &mut Turn, ran: &Ran) -> Vec<(Call, String)> {
    let earlier = turn.record.trace().record.clone();
    let mut results: Vec<(Call, String)> = Vec::with_capacity(ran.results.len());
    for result in &ran.results {
        let call = result.checked.call();
        let text = match (&result.outcome, &result.explanation) {
            (Outcome::Unapproved(note), _) => pipeline.templates.unapproved_call(call, note),
            (outcome, None) => succeeded(outcome, pipeline.settings.outcome_chars),
            (outcome, Some(explanation)) => pipeline.templates.failed_outcome(&FailedOutcome {
                call,
                outcome,
                explanation,
                tool: result.checked.tool(),
                earlier: &earlier,
                body_limit: pipeline.settings.outcome_chars,
            }),
        };
        if result.failed {
            turn.record.round(Round {
                kind: "dynamic".to_owned(),
                action: action(call),
                observation: text.clone(),
                thought: None,
                new_action: None,
            });
        }
        results.push((call.clone(), text));
    }
    results
}

/// Hands the results to the model.
pub(crate) fn hand_back(
    pipeline: &Pipeline,
    turn: &mut Turn,
    draft: &mut Draft,
    judged: &JudgedAnswer,
    ran: &Ran,
    next: Step,
) {
    let results = texts(pipeline, turn, ran);
    let mut completion = judged.completion.clone();
    let Some(choice) = completion.choices_mut().first_mut() else { return };
    let calls: Vec<Call> = results.iter().map(|(call, _)| call.clone()).collect();
    match judged.choices.first().and_then(|choice| choice.rescued.as_ref()) {
        Some(rescued) => choice.rescue(&rescued.text, &calls, turn.request.is_legacy()),
        None => choice.set_calls(&calls),
    }
    draft.commit_results(&choice.message, &results);
    if next == Step::Ask(Purpose::Closing) {
        draft.append_closing(&pipeline.templates.closing(&turn.record.trace().record));
    }
}

/// A successful outcome as the model reads it.
fn succeeded(outcome: &Outcome, limit: usize) -> String {
    match outcome {
        Outcome::Answered(answer) => feedback::answer::shown(answer, limit),
        Outcome::Unreachable { .. } | Outcome::Unknown { .. } | Outcome::Refused { .. } | Outcome::Unapproved(_) => {
            String::new()
        }
    }
}
