//! Rules for the outcomes that cost a round of dynamic feedback.
//!
//! In a feedback round, the model corrects a call. A failure that no call can correct costs no round at its first
//! occurrence in a turn: a missing or refused credential, an API that requests a longer delay than the turn can wait, a
//! pending approval. A model that calls again anyway is in a loop, which the limit ends.

use crate::pipeline::turn::Turn;
use callwright_judge::scanner::CheckedCall;
use callwright_types::outcome::CredentialFault;
use callwright_types::trace::Execution;
use callwright_types::{ApprovalStatus, Explanation, Outcome};

/// Whether the outcome costs a round. `explanation` is set if the outcome is a failure of the API.
pub(super) fn costs_a_round(
    turn: &Turn,
    checked: &CheckedCall,
    outcome: &Outcome,
    explanation: Option<&Explanation>,
    credential: Option<CredentialFault>,
) -> bool {
    let name = &checked.call().name;
    let earlier = &turn.record.trace().executions;
    let told = |is_it: &dyn Fn(&Execution) -> bool| {
        earlier.iter().any(|execution| &execution.call.name == name && is_it(execution))
    };
    match outcome {
        Outcome::Unapproved(note) => {
            let is_it = |earlier: &Execution| earlier.approval.as_ref().is_some_and(|earlier| earlier.id == note.id);
            note.status != ApprovalStatus::Pending || earlier.iter().any(is_it)
        }
        // An outcome that policy accepts is no failure, whatever its status.
        Outcome::Answered(_) if explanation.is_none() => false,
        _ if credential.is_some() => told(&|earlier| earlier.credential.is_some()),
        Outcome::Answered(answer) if answer.asks_for_later() => told(&|earlier| earlier.status == Some(answer.status)),
        _ => explanation.is_some(),
    }
}
