//! Run and explain: executes checked calls of the proxy's tools, and explains failures from the documentation.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream;

use crate::pipeline::services::Pipeline;
use crate::pipeline::state::{RanCall, Turn, milliseconds};
use crate::pipeline::tools::Offering;
use callwright_executor::{self as executor, CallContext};
use callwright_explain::FailureKind;
use callwright_judge::feedback;
use callwright_judge::scanner::CheckedCall;
use callwright_openapi::{Operation, Toolset};
use callwright_telemetry::labels::Stage;
use callwright_types::outcome::CredentialFault;
use callwright_types::refusal::RefusedCall;
use callwright_types::rules::Ablation;
use callwright_types::trace::Execution;
use callwright_types::{
    ApprovalNote, ApprovalStatus, Explanation, OperationRef, Outcome, Owner, Refusal, RefusalReason,
};
use callwright_wire::ToolChoice;

use super::approve::{self, QueuedApproval, refused};
use super::offer::{find, is_search};

/// Executes calls of the proxy's tools, some concurrently, if the `choice` of the answered request permits them. Calls in
/// flight are completed even if the client disconnects.
pub(crate) async fn run(
    pipeline: &Pipeline,
    turn: &mut Turn,
    offering: &mut Offering,
    choice: &ToolChoice,
    calls: Vec<CheckedCall>,
) -> Vec<RanCall> {
    let order: Vec<String> = calls.iter().map(|call| call.call().id.clone()).collect();
    let (searches, calls): (Vec<CheckedCall>, Vec<CheckedCall>) = calls.into_iter().partition(is_search);
    let mut results = Vec::with_capacity(order.len());
    for search in searches {
        let (outcome, execution) = find(pipeline, turn, offering, &search).await;
        turn.record.executions(vec![execution], Duration::ZERO);
        results.push(RanCall::succeeded(search, outcome));
    }
    results.extend(run_side_by_side(pipeline, turn, choice, calls).await);
    results.sort_by_key(|ran| order.iter().position(|id| *id == ran.checked.call().id));
    let called = results.iter().map(|ran| ran.checked.call().name.as_str());
    offering.called(pipeline, turn, called);
    turn.call_states.note(&results);
    results
}

/// The approval request of a call, if it needs one; the outcome of a call that must not be executed.
type ApprovalCheck = Result<Option<QueuedApproval>, Box<Outcome>>;

async fn run_side_by_side(
    pipeline: &Pipeline,
    turn: &mut Turn,
    choice: &ToolChoice,
    calls: Vec<CheckedCall>,
) -> Vec<RanCall> {
    let started = Instant::now();
    let side_by_side = turn.policy.limits.parallel_calls.max(1) as usize;
    let shared: &Turn = turn;
    let mut checks = Vec::with_capacity(calls.len());
    let executed = shared.record.trace.executions.iter().filter(|execution| execution.outcome != REFUSED).count();
    let room = (shared.policy.limits.executed_calls as usize).saturating_sub(executed);
    for (place, checked) in calls.iter().enumerate() {
        checks.push(match choice.permits(&checked.call().name) {
            // Upstreams do not always keep to the choice.
            false => {
                let message = "not executed: the request's `tool_choice` excludes this tool";
                Err(refused(RefusalReason::NotChosen, message))
            }
            true if place < room => check(pipeline, shared, checked).await,
            true => {
                let limit = shared.policy.limits.executed_calls;
                let message =
                    format!("not executed: one turn may execute {limit} calls (policy key `limits.executed_calls`)");
                Err(refused(RefusalReason::CallLimit, message))
            }
        });
    }
    let executed: Vec<(RanCall, Execution)> = stream::iter(calls.into_iter().zip(checks))
        .map(|(checked, check)| execute(pipeline, shared, checked, check))
        .buffered(side_by_side)
        .collect()
        .await;
    for (_, execution) in &executed {
        pipeline.note_refusal(execution, &shared.policy.name);
    }
    let (results, executions) = executed.into_iter().unzip();
    turn.record.executions(executions, started.elapsed());
    results
}

/// Outcome label of a call that was not executed.
const REFUSED: &str = "refused";

/// Checks whether the call may be executed, and queues an approval request if necessary.
async fn check(pipeline: &Pipeline, turn: &Turn, checked: &CheckedCall) -> ApprovalCheck {
    // No approval is requested for an unknown operation; `execute` refuses it.
    let Some((_, toolset, operation)) = operation(turn, checked) else { return Ok(None) };
    approve::approve(pipeline, turn, call_context(turn, checked, toolset, operation)).await
}

async fn execute(pipeline: &Pipeline, turn: &Turn, checked: CheckedCall, check: ApprovalCheck) -> (RanCall, Execution) {
    let decision = match check {
        Ok(Some(queued)) => approve::decision(pipeline, turn, queued).await.map(Some),
        Ok(None) => Ok(None),
        Err(outcome) => Err(outcome),
    };
    let (started, started_after) = (Instant::now(), turn.record.elapsed());
    let found = operation(turn, &checked);
    let (outcome, approval) = carry_out(pipeline, turn, &checked, found, decision).await;
    let took = started.elapsed();
    let (kind, explanation) = match found {
        Some((reference, _, operation)) => explained(pipeline, turn, reference, operation, &outcome, &checked).await,
        None => None,
    }
    .unzip();
    let shortfall = match kind {
        Some(FailureKind::NotAsPromised(shortfall)) => Some(shortfall),
        _ => None,
    };
    let credential = credential_fault(found, &outcome, explanation.as_ref());
    let failed = costs_a_round(turn, &checked, &outcome, explanation.as_ref(), credential);
    let mut execution = trace_of(&checked, found, &outcome, took);
    (execution.approval, execution.credential) = (approval, credential);
    execution.remedy = found.and_then(|found| remedy(turn, found, &outcome));
    execution.explanation.clone_from(&explanation);
    execution.started_ms = milliseconds(started_after);
    let only_reads = found.is_some_and(|(.., operation)| operation.method.is_safe());
    (RanCall { checked, outcome, explanation, only_reads, credential, shortfall, doubt: None, failed }, execution)
}

/// Returns the fault of the toolset's credential if it caused the failure. Logs it, because only the operator can fix
/// it.
fn credential_fault(
    found: Option<FoundOperation<'_>>,
    outcome: &Outcome,
    explanation: Option<&Explanation>,
) -> Option<CredentialFault> {
    let (_, toolset, operation) = found?;
    // An outcome that policy accepts is no failure, whatever its status.
    let is_explained = match (outcome, explanation) {
        (Outcome::Answered(_), None) => return None,
        (_, explanation) => explanation.is_some_and(Explanation::is_hit),
    };
    let fault = executor::credential_fault(operation, toolset, outcome, is_explained)?;
    let tool = &operation.tool.name;
    if let Some(status) = outcome.status() {
        let toolset = &toolset.name;
        tracing::warn!(
            toolset,
            tool,
            status,
            fault = fault.label(),
            "a call failed because its credential is missing or was not accepted"
        );
    }
    Some(fault)
}

/// Returns the kind of an API failure, and its explanation from the documentation.
async fn explained(
    pipeline: &Pipeline,
    turn: &Turn,
    reference: &OperationRef,
    operation: &Operation,
    outcome: &Outcome,
    checked: &CheckedCall,
) -> Option<(FailureKind, Explanation)> {
    let explainer = turn.tooling.explainer.get().await;
    let started = Instant::now();
    let kind = explainer.failure(reference, outcome, &operation.promises, &turn.policy.explain.failures).await?;
    let explanation = match turn.policy.observe.lacks(Ablation::Retrieval) {
        true => Explanation::default(),
        false => explainer.explain(reference, outcome, checked.arguments()).await,
    };
    explainer.learn(&reference.toolset, outcome);
    pipeline.metrics.overhead.observe(Stage::Explain, started.elapsed());
    Some((kind, explanation))
}

/// Executes a call after its approval decision. Returns the outcome, and the approval if one was requested.
async fn carry_out(
    pipeline: &Pipeline,
    turn: &Turn,
    checked: &CheckedCall,
    found: Option<FoundOperation<'_>>,
    decision: Result<Option<ApprovalNote>, Box<Outcome>>,
) -> (Outcome, Option<ApprovalNote>) {
    let Some((_, toolset, operation)) = found else {
        return (*refused(RefusalReason::ToolRemoved, "the tool is no longer in the catalog"), None);
    };
    let context = call_context(turn, checked, toolset, operation);
    let (outcome, used) = match decision {
        Err(outcome) => (*outcome, None),
        Ok(None) => (pipeline.executor.execute(context).await, None),
        Ok(Some(note)) => {
            let grant = pipeline.approvals.grant(&note.id);
            let outcome = pipeline.executor.execute_approved(context, grant).await;
            (outcome, Some(ApprovalNote { status: ApprovalStatus::Used, ..note }))
        }
    };
    let note = if let Outcome::Unapproved(note) = &outcome { Some(note.clone()) } else { used };
    (outcome, note)
}

fn call_context<'a>(
    turn: &'a Turn,
    call: &'a CheckedCall,
    toolset: &'a Toolset,
    operation: &'a Operation,
) -> CallContext<'a> {
    let (rules, trace) = (&turn.policy.execute, &turn.record.trace);
    CallContext { call, operation, toolset, rules, session: trace.session.as_deref(), trace_id: &trace.id }
}

/// An operation of the catalog, with its reference and toolset.
type FoundOperation<'a> = (&'a OperationRef, &'a Toolset, &'a Operation);

fn operation<'a>(turn: &'a Turn, checked: &'a CheckedCall) -> Option<FoundOperation<'a>> {
    let Owner::Proxy(reference) = &checked.tool().tool.owner else { return None };
    let toolset = turn.tooling.catalog.toolset(&reference.toolset)?;
    Some((reference, toolset, turn.tooling.catalog.operation(reference)?))
}

/// Returns the change that would let a refused call through, for the operator.
fn remedy(turn: &Turn, (_, toolset, operation): FoundOperation<'_>, outcome: &Outcome) -> Option<String> {
    let tool = format!("{}/{}", toolset.name, operation.own_name());
    let call = RefusedCall {
        entry: &toolset.entry,
        tool: &tool,
        method: operation.method.as_str(),
        host: operation.servers.first().and_then(|server| server.host_str()),
        policy: &turn.policy.name,
    };
    Some(outcome.refusal()?.remedy(&call))
}

/// Creates the trace entry of a call; the caller adds approval and explanation.
fn trace_of(checked: &CheckedCall, found: Option<FoundOperation<'_>>, outcome: &Outcome, took: Duration) -> Execution {
    Execution {
        call: checked.call().clone(),
        toolset: found.map(|(_, toolset, _)| toolset.name.clone()).unwrap_or_default(),
        operation: found.map(|(.., operation)| format!("{} {}", operation.method, operation.path)).unwrap_or_default(),
        outcome: outcome.label().to_owned(),
        reason: outcome.refusal(),
        status: outcome.status(),
        body: match outcome {
            Outcome::Answered(answer) => Some(feedback::answer::recorded(answer)),
            Outcome::Unreachable { reason }
            | Outcome::Unknown { reason }
            | Outcome::Refused(Refusal { message: reason, .. })
            | Outcome::Unauthorised { reason, .. } => Some(reason.clone()),
            Outcome::Unapproved(_) => None,
        },
        duration_ms: milliseconds(took),
        ..Execution::default()
    }
}

/// Whether the outcome costs a round of dynamic feedback, in which the model corrects the call. `explanation` is set if
/// the outcome is a failure of the API.
///
/// A failure that no call can correct costs no round at its first occurrence in a turn: a missing or refused
/// credential, an API that requests a longer delay than the turn can wait, a pending approval. A model that calls again
/// anyway is in a loop, which the limit ends.
fn costs_a_round(
    turn: &Turn,
    checked: &CheckedCall,
    outcome: &Outcome,
    explanation: Option<&Explanation>,
    credential: Option<CredentialFault>,
) -> bool {
    let earlier = &turn.record.trace.executions;
    let mut of_tool = earlier.iter().filter(|execution| execution.call.name == checked.call().name);
    match outcome {
        Outcome::Unapproved(note) => {
            let mut approvals = earlier.iter().filter_map(|execution| execution.approval.as_ref());
            note.status != ApprovalStatus::Pending || approvals.any(|approval| approval.id == note.id)
        }
        // An outcome that policy accepts is no failure, whatever its status.
        Outcome::Answered(_) if explanation.is_none() => false,
        _ if credential.is_some() => of_tool.any(|execution| execution.credential.is_some()),
        Outcome::Answered(answer) if answer.requests_retry() => {
            of_tool.any(|execution| execution.status == Some(answer.status))
        }
        _ => explanation.is_some(),
    }
}
