//! Approve: queues an approval request for a call that a person has to approve, and waits for the decision.
//!
//! The request is committed before any turn waits for it; if that fails, the call is refused. All requests of an answer
//! are queued before the turn waits for the first one. Waiting ends with the turn: the client disconnects, the time
//! limit is reached, or the proxy stops.

use std::time::Duration;

use jiff::SignedDuration;
use serde_json::Value;
use tokio::time::Instant;

use crate::pipeline::kept_key;
use crate::pipeline::services::Pipeline;
use crate::pipeline::state::Turn;
use callwright_executor::{Application, CallContext, Clearance};
use callwright_openapi::{Operation, Toolset};
use callwright_store::{Question, QueueResult, StoreError};
use callwright_types::rules::{ApprovalMode, ApprovalRules};
use callwright_types::{ApprovalNote, ApprovalStatus, Outcome, Refusal, RefusalReason, SecretValues};

/// Number of hash digits of a client's key that identify the client to people.
const CLIENT_LETTERS: usize = 8;

/// Result of the approval check of a call.
#[derive(Debug)]
pub(super) enum ApprovalCheck {
    /// The call may be executed.
    NotNeeded,
    /// An approval request is queued; the decision is awaited until the deadline.
    Queued(ApprovalNote, Instant),
    /// The call is not executed.
    Settled(Outcome),
}

/// Final result for a call after all waiting.
#[derive(Debug)]
pub(super) enum ApprovalDecision {
    /// The call may be executed; no approval was necessary.
    NotNeeded,
    /// The call may be executed with this approval.
    Approved(ApprovalNote),
    /// The call is not executed.
    Settled(Outcome),
}

/// Queues an approval request for a call if policy requires one.
pub(super) async fn approve(pipeline: &Pipeline, turn: &Turn, context: CallContext<'_>) -> ApprovalCheck {
    let CallContext { call, operation, toolset, rules, .. } = context;
    let application = match pipeline.executor.clear(context).await {
        Clearance::Free => return ApprovalCheck::NotNeeded,
        Clearance::Settled(outcome) => return ApprovalCheck::Settled(outcome),
        Clearance::Needed(application) => application,
    };
    let patience = match patience(turn, &rules.approval) {
        Ok(patience) => patience,
        Err(message) => return ApprovalCheck::Settled(unavailable(message)),
    };
    let largest = pipeline.settings.max_approval_bytes;
    if application.target.len() + application.arguments.len() > largest {
        let message = format!("it is too large for an approval request (pipeline.max_approval_bytes is {largest})");
        return ApprovalCheck::Settled(unavailable(message));
    }
    let most = pipeline.settings.max_pending_approvals;
    let mut secrets = SecretValues::default();
    secrets.note(&call.tool().tool.parameters, &Value::Object(call.arguments().clone()));
    let question = question(turn, *application, operation, toolset, patience, &secrets);
    match pipeline.approvals.request(&question, most).await {
        Ok(QueueResult::Queued(note) | QueueResult::Existing(note)) => {
            ApprovalCheck::Queued(note, Instant::now() + patience)
        }
        Ok(QueueResult::Full) => {
            let message = format!("a person has to approve it, but {most} calls are already waiting for approval");
            ApprovalCheck::Settled(unavailable(message))
        }
        Err(error) => ApprovalCheck::Settled(unasked(&error)),
    }
}

/// Returns the decision on a call. Waits for a pending approval in `wait` mode.
pub(super) async fn decision(pipeline: &Pipeline, turn: &Turn, check: ApprovalCheck) -> ApprovalDecision {
    let (note, deadline) = match check {
        ApprovalCheck::NotNeeded => return ApprovalDecision::NotNeeded,
        ApprovalCheck::Settled(outcome) => return ApprovalDecision::Settled(outcome),
        ApprovalCheck::Queued(note, deadline) => (note, deadline),
    };
    let waits = turn.policy.execute.approval.mode == ApprovalMode::Wait;
    let note = match note.status {
        ApprovalStatus::Pending if waits => {
            match pipeline.approvals.decision(&note.id, deadline, &turn.cancelled).await {
                Ok(note) => note,
                Err(error) => return ApprovalDecision::Settled(unasked(&error)),
            }
        }
        _ => note,
    };
    if note.status != ApprovalStatus::Approved {
        return ApprovalDecision::Settled(Outcome::Unapproved(note));
    }
    // Nothing new starts after the client disconnects: the approval stays valid for its return.
    if turn.cancelled.is_cancelled() {
        let refusal = Refusal::new(RefusalReason::ClientGone, "the client went away");
        return ApprovalDecision::Settled(refusal.into());
    }
    ApprovalDecision::Approved(note)
}

/// Returns the time to wait for the decision.
fn patience(turn: &Turn, rules: &ApprovalRules) -> Result<Duration, String> {
    match rules.mode {
        ApprovalMode::Notice if turn.record.trace.session.is_none() => Err("a person has to approve it, but this \
            conversation has no session to which the approval could belong; the client must send a key or the \
            header x-callwright-session"
            .to_owned()),
        ApprovalMode::Notice => Ok(Duration::from_secs(rules.valid_seconds)),
        ApprovalMode::Wait => {
            let left = Duration::from_secs(turn.policy.limits.seconds).saturating_sub(turn.record.elapsed());
            let patience = Duration::from_secs(rules.timeout_seconds).min(left);
            if patience.is_zero() {
                return Err("a person has to approve it, but the time limit of the turn is reached".to_owned());
            }
            Ok(patience)
        }
    }
}

fn question(
    turn: &Turn,
    application: Application,
    operation: &Operation,
    toolset: &Toolset,
    patience: Duration,
    secrets: &SecretValues,
) -> Question {
    let Application { operation: label, method, target, arguments, digest } = application;
    let trace = &turn.record.trace;
    let patience = SignedDuration::try_from(patience).unwrap_or(SignedDuration::MAX);
    let tenant = turn.tenant().to_owned();
    Question {
        mode: turn.policy.execute.approval.mode,
        patience,
        // A decision is valid as long as the request was.
        valid: patience,
        client: client(turn, &tenant),
        tenant,
        session: trace.session.clone().unwrap_or_else(|| trace.id.clone()),
        trace: trace.id.clone(),
        toolset: toolset.name.clone(),
        tool: operation.tool.name.clone(),
        operation: label,
        method,
        // For display only; the digest identifies the approved call.
        target: secrets.mask_text(&target).into_owned(),
        arguments: secrets.mask_text(&arguments).into_owned(),
        digest,
        keep: turn.record.keep_bodies,
    }
}

/// Returns the client's name for people: the name of its virtual key, else the first digits of its key's hash, which do
/// not reveal the key.
fn client(turn: &Turn, tenant: &str) -> String {
    if let Some(key) = &turn.record.trace.key {
        return key.name.clone();
    }
    let letters = tenant.get(..CLIENT_LETTERS).unwrap_or_default();
    if kept_key::client_key(&turn.headers).is_some() { format!("key-{letters}") } else { "no key".to_owned() }
}

fn unasked(error: &StoreError) -> Outcome {
    unavailable(format!("a person has to approve it, but the approval request failed: {error}"))
}

fn unavailable(message: String) -> Outcome {
    Refusal::new(RefusalReason::ApprovalUnavailable, message).into()
}
