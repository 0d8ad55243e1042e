//! Approve: a call that a person has to approve → a question in the queue → the decision.
//!
//! The question is committed before anything waits for it; where it cannot be, the call is refused. All questions of an answer are asked
//! before the first is waited for. What a turn waited for ends with the turn: its client goes, its time is over, the proxy stops.

use std::time::Duration;

use jiff::SignedDuration;
use serde_json::Value;
use tokio::time::Instant;

use crate::pipeline::Pipeline;
use crate::pipeline::turn::Turn;
use callwright_executor::{Application, Clearance};
use callwright_judge::scanner::CheckedCall;
use callwright_openapi::{Operation, Toolset};
use callwright_store::{Asked, Question, StoreError};
use callwright_types::rules::{ApprovalMode, ApprovalRules};
use callwright_types::{ApprovalNote, ApprovalStatus, Outcome, SecretValues};

use super::kept_key;

/// Letters of the hash of a client's key by which people tell clients apart.
const CLIENT_LETTERS: usize = 8;

/// How a call may go on.
#[derive(Debug)]
pub(super) enum Leave {
    /// It may be executed.
    Free,
    /// A person was asked; the decision is worth waiting for until then.
    Asked(ApprovalNote, Instant),
    /// It is not executed.
    Settled(Outcome),
}

/// What holds for a call once nothing is waited for any more.
#[derive(Debug)]
pub(super) enum Decision {
    /// It may be executed, and nobody had to be asked.
    Free,
    /// It may be executed, by this approval.
    Approved(ApprovalNote),
    /// It is not executed.
    Settled(Outcome),
}

/// Asks a person about a call where policy wants that.
pub(super) async fn ask(
    pipeline: &Pipeline,
    turn: &Turn,
    call: &CheckedCall,
    (operation, toolset): (&Operation, &Toolset),
) -> Leave {
    let trace = turn.record.trace();
    let rules = &turn.policy.execute;
    let clearance = pipeline.executor.clear(call, operation, toolset, rules, trace.session.as_deref(), &trace.id).await;
    let application = match clearance {
        Clearance::Free => return Leave::Free,
        Clearance::Settled(outcome) => return Leave::Settled(outcome),
        Clearance::Needed(application) => application,
    };
    let patience = match patience(turn, &rules.approval) {
        Ok(patience) => patience,
        Err(reason) => return Leave::Settled(Outcome::Refused { reason }),
    };
    let largest = pipeline.settings.max_approval_bytes;
    if application.target.len() + application.arguments.len() > largest {
        let reason = format!("it is too large for a person to approve it (pipeline.max_approval_bytes is {largest})");
        return Leave::Settled(Outcome::Refused { reason });
    }
    let most = pipeline.settings.max_pending_approvals;
    let mut secrets = SecretValues::default();
    secrets.note(&call.tool().tool.parameters, &Value::Object(call.arguments().clone()));
    let question = question(turn, *application, (operation, toolset), patience, &secrets);
    match pipeline.approvals.ask(&question, most).await {
        Ok(Asked::Queued(note)) => Leave::Asked(note, Instant::now() + patience),
        Ok(Asked::Full) => {
            let reason = format!("a person has to approve it, and {most} calls wait for that already");
            Leave::Settled(Outcome::Refused { reason })
        }
        Err(error) => Leave::Settled(unasked(&error)),
    }
}

/// Waits for a decision where one was asked for and policy says so.
pub(super) async fn decision(pipeline: &Pipeline, turn: &Turn, leave: Leave) -> Decision {
    let (note, deadline) = match leave {
        Leave::Free => return Decision::Free,
        Leave::Settled(outcome) => return Decision::Settled(outcome),
        Leave::Asked(note, deadline) => (note, deadline),
    };
    let waits = turn.policy.execute.approval.mode == ApprovalMode::Wait;
    let note = match note.status {
        ApprovalStatus::Pending if waits => {
            match pipeline.approvals.decision(&note.id, deadline, &turn.cancelled).await {
                Ok(note) => note,
                Err(error) => return Decision::Settled(unasked(&error)),
            }
        }
        _ => note,
    };
    if note.status != ApprovalStatus::Approved {
        return Decision::Settled(Outcome::Unapproved(note));
    }
    // Nothing new begins when the client has gone: the approval stays good for its return.
    if turn.cancelled.is_cancelled() {
        return Decision::Settled(Outcome::Refused { reason: "the client went away".to_owned() });
    }
    Decision::Approved(note)
}

/// How long the decision is waited for.
fn patience(turn: &Turn, rules: &ApprovalRules) -> Result<Duration, String> {
    match rules.mode {
        ApprovalMode::Notice if turn.record.trace().session.is_none() => Err("a person has to approve it, and the \
            approval could not be told to belong to this conversation: it has no session; the client must send a key or the \
            header x-callwright-session"
            .to_owned()),
        ApprovalMode::Notice => Ok(Duration::from_secs(rules.valid_seconds)),
        ApprovalMode::Wait => {
            let left = Duration::from_secs(turn.policy.limits.seconds).saturating_sub(turn.record.elapsed());
            let patience = Duration::from_secs(rules.timeout_seconds).min(left);
            if patience.is_zero() {
                return Err("a person has to approve it, and the time of the turn is over".to_owned());
            }
            Ok(patience)
        }
    }
}

fn question(
    turn: &Turn,
    application: Application,
    (operation, toolset): (&Operation, &Toolset),
    patience: Duration,
    secrets: &SecretValues,
) -> Question {
    let Application { operation: label, method, target, arguments, digest } = application;
    let trace = turn.record.trace();
    let patience = SignedDuration::try_from(patience).unwrap_or(SignedDuration::MAX);
    let tenant = turn.tenant().to_owned();
    Question {
        mode: turn.policy.execute.approval.mode,
        patience,
        // A decision holds as long as the question did.
        valid: patience,
        client: client(turn, &tenant),
        tenant,
        session: trace.session.clone().unwrap_or_else(|| trace.id.clone()),
        trace: trace.id.clone(),
        toolset: toolset.name.clone(),
        tool: operation.tool.name.clone(),
        operation: label,
        method,
        // For a person to read; what is approved is told by the digest.
        target: secrets.mask_text(&target).into_owned(),
        arguments: secrets.mask_text(&arguments).into_owned(),
        digest,
        keep: turn.record.keeps_bodies(),
    }
}

/// The client as people tell it from others: by the name of its virtual key, or else by its own key: from the beginning of its key's hash no key can be found.
fn client(turn: &Turn, tenant: &str) -> String {
    if let Some(key) = &turn.record.trace().key {
        return key.name.clone();
    }
    let letters = tenant.get(..CLIENT_LETTERS).unwrap_or_default();
    if kept_key::client_key(&turn.headers).is_some() { format!("key-{letters}") } else { "no key".to_owned() }
}

fn unasked(error: &StoreError) -> Outcome {
    Outcome::Refused { reason: format!("a person has to approve it, and could not be asked: {error}") }
}
