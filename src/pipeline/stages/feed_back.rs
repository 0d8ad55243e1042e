//! Feed back: converts diagnoses to messages for the model (static feedback), and adds the closing request at a limit.

use crate::pipeline::services::Pipeline;
use crate::pipeline::state::{JudgedAnswer, ToolReply, Turn, TurnConversation};
use crate::pipeline::tools::Offer;
use callwright_common::limits::EXCERPT_CHARS;
use callwright_common::text::beginning;
use callwright_judge::feedback;
use callwright_judge::repair::JudgedCall;
use callwright_telemetry::labels::Stage;
use callwright_types::trace::Round;
use callwright_types::{Call, Diagnosis, FaultCode, Purpose};

use super::hand_back::shown_rounds;

/// Appends the results of the scan to the next request. Every call of the answer gets a reply, as providers require.
/// The reply to a faulty call is its diagnosis. A correct call is accepted and kept. A text answer is replied to with
/// text.
pub(crate) fn feed_back(
    pipeline: &Pipeline,
    turn: &mut Turn,
    conversation: &mut TurnConversation,
    judged: &JudgedAnswer,
    purpose: Purpose,
) {
    pipeline.timed(Stage::FeedBack, || append(turn, conversation, judged, purpose));
}

fn append(turn: &mut Turn, conversation: &mut TurnConversation, judged: &JudgedAnswer, purpose: Purpose) {
    let TurnConversation { offering, draft, .. } = conversation;
    let offer = &offering.offer;
    let (Some(choice), Some(found)) = (judged.completion.choices().first(), judged.choices.first()) else { return };
    let message = &choice.message;
    let is_of_call = found.no_answer().is_none() && purpose != Purpose::Confirmation;
    turn.record.sent_back(is_of_call);
    if let Some(diagnosis) = &found.no_call {
        let text = match (purpose, found.no_answer()) {
            (Purpose::Confirmation, _) => feedback::confirm_call(diagnosis, &offer.tool_set),
            (_, Some(_)) => feedback::no_answer(diagnosis),
            (_, None) => feedback::no_call(diagnosis, &offer.tool_set),
        };
        let action = unread_action(diagnosis.code, message.text().as_deref().unwrap_or_default());
        note(turn, action, &text, brief(std::slice::from_ref(diagnosis)));
        draft.append_feedback_on_text(&judged.completion, &text);
    } else {
        draft.kept.keep_correct(&found.calls);
        let mut replies: Vec<ToolReply> = Vec::with_capacity(found.calls.len());
        let namespaces = message.namespaces();
        for call in &found.calls {
            let namespace = namespaces.get(&call.made.id).map(String::as_str);
            replies.push(unexecuted(call.made.clone(), reply(turn, offer, call, namespace)));
        }
        if found.rescued.is_some() {
            let texts: Vec<String> = replies.into_iter().map(|reply| reply.text).collect();
            draft.append_feedback_on_text(&judged.completion, &texts.join("\n\n"));
        } else {
            // The proxy does not keep these calls: the model makes them again with the corrected calls.
            let unjudged = message.unjudged_calls().into_iter();
            replies.extend(unjudged.map(|call| {
                let text = feedback::deferred_call(&call);
                unexecuted(call, text)
            }));
            draft.append_feedback(&judged.completion, &replies);
        }
    }
    if purpose == Purpose::Closing {
        let text = feedback::closing(shown_rounds(turn));
        draft.append_closing(&text);
    }
}

/// Returns the reply to a call that is not executed.
fn unexecuted(call: Call, text: String) -> ToolReply {
    ToolReply { call, text, is_error: true }
}

fn reply(turn: &mut Turn, offer: &Offer, call: &JudgedCall, namespace: Option<&str>) -> String {
    match &call.result {
        Ok(_) => feedback::accepted_call(&call.made),
        Err(_) if call.is_unexamined() => feedback::unexamined_call(&call.made),
        Err(diagnoses) => {
            let namesake = offer.tool_set.for_call(&call.made, namespace);
            let tool_set = namesake.as_ref().unwrap_or(&offer.tool_set);
            let mut text = feedback::faulty_call(&call.made, diagnoses, tool_set);
            text.push_str(&feedback::hints(&call.made, &call.advice));
            note(turn, call.made.written(), &text, brief(diagnoses));
            text
        }
    }
}

/// Returns the faults in brief, for later rounds.
fn brief(diagnoses: &[Diagnosis]) -> String {
    diagnoses.iter().map(|diagnosis| diagnosis.message.as_str()).collect::<Vec<_>>().join("; ")
}

fn note(turn: &mut Turn, action: String, observation: &str, brief: String) {
    turn.record.trace.record.push(Round {
        kind: "static".to_owned(),
        action,
        observation: observation.to_owned(),
        brief,
        ..Round::default()
    });
}

/// Formats a text that was meant as a call, or an empty one, for the record of the loop, in the form of
/// `Call::written`.
fn unread_action(code: FaultCode, text: &str) -> String {
    format!("{}({})", code.name(), beginning(text, EXCERPT_CHARS))
}
