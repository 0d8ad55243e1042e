//! Delivery: records whether the upstream parses this model's calls itself, for later answers.

use crate::pipeline::turn::Turn;
use callwright_judge::repair::JudgedMessage;
use callwright_openai::{ChatRequest, Choice, ToolChoice};
use callwright_upstream::ObservedCalls;

use super::judge::JudgedAnswer;
use super::offer::Offer;

/// Records how the calls of an answer were delivered, if the model could make calls.
pub(super) fn note(turn: &Turn, offer: &Offer, request: &ChatRequest, judged: &JudgedAnswer) {
    if offer.is_judged() && request.tool_choice() != ToolChoice::None {
        turn.upstream.note_delivery(&turn.model, delivery(judged));
    }
}

/// Returns how the calls were delivered. One native call is sufficient for `Native`. Without one, a text that was meant
/// as a call counts as `Text`: a server that parses calls would have removed it.
fn delivery(judged: &JudgedAnswer) -> ObservedCalls {
    let is_native = |choice: &Choice| !choice.message.calls().is_empty() || choice.message.has_unjudged_calls();
    if judged.completion.choices().iter().any(is_native) {
        ObservedCalls::Native
    } else if judged.choices.iter().any(JudgedMessage::called_in_text) {
        ObservedCalls::Text
    } else {
        ObservedCalls::None
    }
}
