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
use callwright_executor::{Application, CallContext};
use callwright_openapi::{Operation, Toolset};
use callwright_store::{Question, QueueResult, StoreError};
use callwright_types::rules::{ApprovalMode, ApprovalRules};
use callwright_types::{ApprovalNote, ApprovalStatus, Outcome, Refusal, RefusalReason, SecretValues};

/// Number of hash digits of a client's key that identify the client to people.
const CLIENT_LETTERS: usize = 8;

/// A queued approval request, whose decision is awaited until the deadline.
#[derive(Debug)]
pub(super) struct QueuedApproval {
    note: ApprovalNote,
    deadline: Instant,
}

/// Queues an approval request for a call if policy requires one.
///
/// # Errors
/// The outcome of a call that must not be executed.
pub(super) async fn approve(
    pipeline: &Pipeline,
    turn: &Turn,
    context: CallContext<'_>,
) -> Result<Option<QueuedApproval>, Box<Outcome>> {
    let CallContext { call, operation, toolset, rules, .. } = context;
    let Some(application) = pipeline.executor.clear(context).await? else { return Ok(None) };
    let patience = patience(turn, &rules.approval).map_err(unavailable)?;
    let largest = pipeline.settings.max_approval_bytes;
    if application.target.len() + application.arguments.len() > largest {
        let message = format!("it is too large for an approval request (pipeline.max_approval_bytes is {largest})");
        return Err(unavailable(message));
    }
    let most = pipeline.settings.max_pending_approvals;
    let mut secrets = SecretValues::default();
    secrets.note(&call.tool().tool.parameters, &Value::Object(call.arguments().clone()));
    let question = question(turn, application, operation, toolset, patience, &secrets);
    match pipeline.approvals.request(&question, most).await.map_err(|error| unasked(&error))? {
        QueueResult::Queued(note) | QueueResult::Existing(note) => {
            Ok(Some(QueuedApproval { note, deadline: Instant::now() + patience }))
        }
        QueueResult::Full => {
            let message = format!("a person has to approve it, but {most} calls are already waiting for approval");
            Err(unavailable(message))
        }
    }
}

/// Returns the approval of a call, once it is decided. Waits for a pending one in `wait` mode.
///
/// # Errors
/// The outcome of a call that must not be executed.
pub(super) async fn decision(
    pipeline: &Pipeline,
    turn: &Turn,
    QueuedApproval { mut note, deadline }: QueuedApproval,
) -> Result<ApprovalNote, Box<Outcome>> {
    if note.status == ApprovalStatus::Pending && turn.policy.execute.approval.mode == ApprovalMode::Wait {
        let decision = pipeline.approvals.decision(&note.id, deadline, &turn.cancelled).await;
        note = decision.map_err(|error| unasked(&error))?;
    }
    if note.status != ApprovalStatus::Approved {
        return Err(Outcome::Unapproved(note).into());
    }
    // Nothing new starts after the client disconnects: the approval stays valid for its return.
    if turn.cancelled.is_cancelled() {
        return Err(refused(RefusalReason::ClientGone, "the client went away"));
    }
    Ok(note)
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
            let left = turn.time_left();
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

fn unasked(error: &StoreError) -> Box<Outcome> {
    unavailable(format!("a person has to approve it, but the approval request failed: {error}"))
}

fn unavailable(message: String) -> Box<Outcome> {
    refused(RefusalReason::ApprovalUnavailable, message)
}

/// Returns the outcome of a call that is not executed for this reason.
pub(super) fn refused(reason: RefusalReason, message: impl Into<String>) -> Box<Outcome> {
    Box::new(Refusal::new(reason, message).into())
}
