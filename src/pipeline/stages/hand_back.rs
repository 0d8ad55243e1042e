//! Hand back: converts outcomes to results for the model, with dynamic feedback for failures, and adds rounds to the
//! record.

use crate::pipeline::dialogue::DialogueStep;
use crate::pipeline::services::Pipeline;
use crate::pipeline::state::{ChatDraft, JudgedAnswer, RanCall, ToolReply, Turn, TurnConversation};
use callwright_judge::feedback::{self, FailedOutcome};
use callwright_judge::repair::JudgedMessage;
use callwright_telemetry::labels::Stage;
use callwright_types::rules::Ablation;
use callwright_types::trace::Round;
use callwright_types::{Call, Outcome, Purpose};

/// Appends the results to the request, whose tools may have grown meanwhile.
pub(crate) fn hand_back(
    pipeline: &Pipeline,
    turn: &mut Turn,
    conversation: &mut TurnConversation,
    judged: &JudgedAnswer,
    ran: &[RanCall],
    next: DialogueStep,
) {
    pipeline.timed(Stage::FeedBack, || {
        let TurnConversation { offering, draft, .. } = conversation;
        append(pipeline, turn, draft, judged, ran, next);
        draft.offer(&offering.offer);
    });
}

fn append(
    pipeline: &Pipeline,
    turn: &mut Turn,
    draft: &mut ChatDraft,
    judged: &JudgedAnswer,
    ran: &[RanCall],
    next: DialogueStep,
) {
    let results = texts(pipeline, turn, ran);
    let mut completion = judged.completion.clone();
    let Some(choice) = completion.choices_mut().first_mut() else { return };
    let calls: Vec<Call> = results.iter().map(|reply| reply.call.clone()).collect();
    match judged.choices.first().and_then(JudgedMessage::remaining_text) {
        Some(text) => choice.rescue(text, &calls, turn.request.is_legacy()),
        None => choice.set_calls(&calls),
    }
    draft.commit_results(&completion, &results);
    if next == DialogueStep::Ask(Purpose::Closing) {
        draft.append_closing(&feedback::closing(shown_rounds(turn)));
    }
}

/// Returns the rounds that the model is shown: none where policy leaves out the record.
pub(crate) fn shown_rounds(turn: &Turn) -> &[Round] {
    if turn.policy.observe.lacks(Ablation::Record) { &[] } else { &turn.record.trace.record }
}

/// Returns the results for the model: successful ones unchanged, failed ones with their explanation (dynamic feedback).
pub(crate) fn texts(pipeline: &Pipeline, turn: &mut Turn, ran: &[RanCall]) -> Vec<ToolReply> {
    let rounds = turn.record.trace.record.len();
    let earlier = shown_rounds(turn).to_vec();
    let mut results: Vec<ToolReply> = Vec::with_capacity(ran.len());
    for result in ran {
        let call = result.checked.call();
        let text = match (&result.outcome, &result.explanation) {
            (Outcome::Unapproved(note), _) => feedback::unapproved_call(call, note),
            (outcome, None) => {
                let answer = succeeded(outcome, pipeline.settings.outcome_chars);
                match &result.doubt {
                    Some(reason) => feedback::doubted_answer(call, &answer, reason),
                    None => answer,
                }
            }
            (outcome, Some(explanation)) => feedback::failed_outcome(&FailedOutcome {
                call,
                outcome,
                explanation,
                tool: result.checked.tool(),
                only_reads: result.only_reads,
                credential: result.credential,
                shortfall: result.shortfall.as_ref(),
                earlier: &earlier,
                tokens: pipeline.settings.feedback_tokens,
            }),
        };
        // Failures that cost no round are recorded too: a person who takes over needs them.
        if result.failed || result.explanation.is_some() || result.doubt.is_some() {
            let brief = match &result.doubt {
                Some(reason) => reason.clone(),
                None => feedback::brief(&result.outcome, result.shortfall.as_ref()),
            };
            turn.record.trace.record.push(Round {
                kind: "dynamic".to_owned(),
                action: call.written(),
                observation: text.clone(),
                brief,
                ..Round::default()
            });
        }
        results.push(ToolReply { call: call.clone(), text, is_error: result.failed || result.explanation.is_some() });
    }
    if turn.record.trace.record.len() > rounds {
        turn.record.sent_back(false);
    }
    results
}

/// Returns the text of a successful outcome for the model.
fn succeeded(outcome: &Outcome, limit: usize) -> String {
    if let Outcome::Answered(answer) = outcome { feedback::answer::shown(answer, limit) } else { String::new() }
}
