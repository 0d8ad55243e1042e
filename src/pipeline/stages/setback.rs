//! Which outcomes cost a round of dynamic feedback.
//!
//! A round is for the model to mend a call. What no call can mend costs none when it is told for the first time in a turn: a credential
//! that is missing or refused, an API that asks to be called later than the turn can wait, a person who has not decided. A model that
//! calls again all the same is going round in circles, and that is what the limit is for.

use crate::pipeline::turn::Turn;
use callwright_judge::scanner::CheckedCall;
use callwright_types::outcome::CredentialFault;
use callwright_types::trace::Execution;
use callwright_types::{ApprovalStatus, Explanation, Outcome};

/// Does the outcome cost a round? `explanation` is there where the outcome is a failure of the API's.
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
        // What policy calls fine is no failure, whatever its status.
        Outcome::Answered(_) if explanation.is_none() => false,
        _ if credential.is_some() => told(&|earlier| earlier.credential.is_some()),
        Outcome::Answered(answer) if answer.asks_for_later() => told(&|earlier| earlier.status == Some(answer.status)),
        _ => explanation.is_some(),
    }
}
