//! Feed back: diagnoses → messages to the model (static feedback), and the closing request when a limit is reached.

use crate::domain::Call;
use crate::domain::trace::Round;
use crate::pipeline::Pipeline;
use crate::pipeline::dialogue::Purpose;
use crate::pipeline::turn::Turn;
use crate::scanner::CheckedCall;

use super::compose::Draft;
use super::judge::{JudgedAnswer, action};
use super::offer::Offer;
use crate::repair::JudgedCall;

/// Appends what the scan found to the next request. Every call of the answer gets a reply, as providers demand: a faulty
/// one its diagnosis, a right one that it is accepted, and it is kept.
pub(crate) fn faults(
    pipeline: &Pipeline,
    turn: &mut Turn,
    offer: &Offer,
    draft: &mut Draft,
    judged: &JudgedAnswer,
    purpose: Purpose,
) {
    let (Some(choice), Some(calls)) = (judged.completion.choices().first(), judged.choices.first()) else { return };
    let replies: Vec<(Call, String)> =
        calls.calls.iter().map(|call| (call.made.clone(), reply(pipeline, turn, offer, draft, call))).collect();
    draft.append_feedback(&choice.message, &replies);
    if purpose == Purpose::Closing {
        let text = pipeline.templates.closing(&turn.record.trace().record);
        draft.append_closing(&text);
    }
}

fn reply(pipeline: &Pipeline, turn: &mut Turn, offer: &Offer, draft: &mut Draft, call: &JudgedCall) -> String {
    match &call.result {
        Ok(checked) => {
            keep(draft, checked);
            pipeline.templates.accepted_call(&call.made)
        }
        Err(diagnoses) => {
            let mut text = pipeline.templates.faulty_call(&call.made, diagnoses, &offer.toolbook);
            text.push_str(&pipeline.templates.hints(&call.made, &call.advice));
            turn.record.round(Round {
                kind: "static".to_owned(),
                action: action(&call.made),
                observation: text.clone(),
                thought: None,
                new_action: None,
            });
            text
        }
    }
}

/// Keeps a right call of a faulty answer, once: a model may repeat it although it was told not to.
fn keep(draft: &mut Draft, checked: &CheckedCall) {
    if !draft.kept.iter().any(|kept| is_same(kept, checked)) {
        draft.kept.push(checked.clone());
    }
}

/// Do two checked calls ask for the same thing?
pub(crate) fn is_same(left: &CheckedCall, right: &CheckedCall) -> bool {
    left.call().name == right.call().name && left.arguments() == right.arguments() && !left.is_free_text()
}
