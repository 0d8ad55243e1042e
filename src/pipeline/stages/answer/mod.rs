//! Answer: converts the last validated answer to the client's answer ([`settle`]), and writes it as JSON or events
//! ([`write()`]).

mod outcome;
mod relay;
mod write;

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use http::header::ACCEPT_LANGUAGE;

use crate::pipeline::dialogue::TurnEnding;
use crate::pipeline::state::{
    JudgedAnswer, KeptCalls, OrderedCall, SettledAnswer, Turn, TurnConversation, with_fresh_id,
};
use crate::pipeline::tools::Offer;
use callwright_judge::repair::{JudgedCall, JudgedMessage};
use callwright_judge::scanner::{CheckedCall, ToolSet};
use callwright_types::rules::{Mode, OnExhausted};
use callwright_types::{Call, RepairKind, ToolKind, TurnLimit};
use callwright_wire::{Choice, Completion, ErrorBody, ToolChoice};

use outcome::{LeftAnswer, ModelAnswer};
pub(crate) use outcome::{executed, mixed};
pub(crate) use relay::{refuse, relay};
pub(crate) use write::{compose_begun, write};

/// Settles the client's answer from the last validated answer, in the form that the ending requires. Returns an error
/// if policy prefers an error to a faulty answer.
pub(crate) fn settle(
    turn: &mut Turn,
    conversation: &TurnConversation,
    judged: JudgedAnswer,
    ending: TurnEnding,
) -> Result<SettledAnswer, ErrorBody> {
    let (offer, kept) = (conversation.offer(), &conversation.draft.kept);
    let is_text = ending == TurnEnding::Judged && turn.policy.mode == Mode::Guard;
    let judged = if is_text { judged.into_text() } else { judged };
    turn.record.trace.exhausted = ending.limit();
    let given = ModelAnswer::new(&judged);
    if let (TurnEnding::Exhausted(limit), OnExhausted::Error) = (ending, turn.policy.on_exhausted) {
        outcome::conclude_without_answer(turn, given);
        let trace = &turn.record.trace.id;
        let message = match limit {
            TurnLimit::Judgement => format!(
                "validating the model's answer took longer than scanner.max_judgement_milliseconds; see trace {trace}"
            ),
            limit => format!(
                "the model's calls are still faulty and the limit `{}` is reached; see trace {trace}",
                limit.label()
            ),
        };
        return Err(ErrorBody::new("upstream_error", "feedback_exhausted", message));
    }
    let JudgedAnswer { mut completion, choices, .. } = judged;
    let (mut unsent_texts, mut is_rescued) = (BTreeMap::new(), false);
    let mut left = LeftAnswer::default();
    let changed = match ending {
        TurnEnding::Handover(_) => {
            let trace = &turn.record.trace;
            let accepted = turn.headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
            let text = turn.policy.limits.message.text(accepted.unwrap_or_default(), &trace.id);
            completion = Completion::of_text(turn.request.protocol(), &trace.model, &text);
            // The answer is the proxy's own: its cost is that of the whole turn.
            completion.set_usage(trace.usage);
            turn.streamed.replaced();
            true
        }
        _ if turn.policy.mode != Mode::Guard || !offer.is_judged() || turn.streamed.delivered => false,
        _ => {
            let mut changed = false;
            let of_others = KeptCalls::default();
            for (number, judged) in choices.iter().enumerate() {
                let kept = if number == 0 { kept } else { &of_others };
                let Some(choice) = completion.choices_mut().get_mut(number) else { continue };
                let change = change(turn, offer, choice, judged, kept, ending, &mut left);
                match change {
                    ChoiceChange::None => {}
                    ChoiceChange::Calls => changed = true,
                    ChoiceChange::Text { unsent } => {
                        changed = true;
                        is_rescued |= judged.rescued.is_some();
                        unsent_texts.insert(choice.index, unsent);
                    }
                }
            }
            changed
        }
    };
    match ending {
        TurnEnding::Handover(_) => outcome::conclude_without_answer(turn, given),
        _ if turn.policy.mode != Mode::Guard || !offer.is_judged() => {
            outcome::conclude_unchanged(turn, given, &completion)
        }
        _ => outcome::conclude(turn, given, left),
    }
    let reformed = if changed { reformed(&choices) } else { BTreeMap::new() };
    Ok(SettledAnswer { completion, changed, unsent: unsent_texts, is_rescued, reformed })
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ChoiceChange {
    None,
    Calls,
    /// The text was converted to calls, or what was left of native calls was removed from it. `unsent` is the remaining
    /// text that the client of a stream does not have.
    Text {
        unsent: String,
    },
}

/// Converts a choice to the client's form.
fn change(
    turn: &Turn,
    offer: &Offer,
    choice: &mut Choice,
    judged: &JudgedMessage,
    kept: &KeptCalls,
    ending: TurnEnding,
    left: &mut LeftAnswer,
) -> ChoiceChange {
    let pass_faulty = match ending {
        TurnEnding::Exhausted(_) => turn.policy.on_exhausted == OnExhausted::Pass,
        _ => true,
    };
    // Faulty calls from text are forwarded as the original text.
    let stays_text = pass_faulty && judged.calls.iter().any(|call| call.result.is_err());
    let rescued = judged.rescued.as_ref();
    let calls = if rescued.is_some() && stays_text { &[][..] } else { &judged.calls };
    let for_client = calls_for_client(turn, offer, calls, kept, pass_faulty, left);
    left.has_calls |= !for_client.is_empty() || choice.message.has_unjudged_calls();
    left.has_faults |= stays_text || judged.no_call.is_some();
    if let Some(rescued) = rescued.filter(|_| !stays_text) {
        let (text, unsent) = remaining_text(turn, choice, &rescued.text, &rescued.spans);
        choice.rescue(&text, &for_client, turn.request.is_legacy());
        make_custom(&offer.tool_set, choice, &for_client);
        left.difference.repaired = true;
        return ChoiceChange::Text { unsent };
    }
    let residue = judged.residue.as_ref().filter(|_| !for_client.is_empty());
    let unsent = residue.map(|residue| {
        let (text, unsent) = remaining_text(turn, choice, &residue.text, &residue.spans);
        choice.set_text(&text);
        unsent
    });
    left.difference.repaired |= unsent.is_some();
    let mut changed = false;
    if !choice.message.is_well_formed() {
        left.was_malformed = true;
        left.difference.repaired = true;
    }
    if for_client != choice.message.calls() || !choice.message.is_well_formed() {
        choice.set_calls(&for_client);
        changed = true;
    }
    changed |= make_custom(&offer.tool_set, choice, &for_client);
    changed |= if turn.request.is_stream() && !is_stop_of_forced_call(turn, choice) {
        choice.derive_finish_reason() || choice.contradicts_calls() && choice.finish_with_calls()
    } else {
        choice.contradicts_calls() && !is_stop_of_forced_call(turn, choice) && choice.finish_with_calls()
    };
    match unsent {
        Some(unsent) => ChoiceChange::Text { unsent },
        None if changed => ChoiceChange::Calls,
        None => ChoiceChange::None,
    }
}

/// Returns the text of a choice that remains without `spans`, and the part of it that the client of a stream does not
/// have. `whole` is the remaining text if the client has nothing.
fn remaining_text(turn: &Turn, choice: &Choice, whole: &str, spans: &[Range<usize>]) -> (String, String) {
    let before = choice.message.text().unwrap_or_default();
    let unsent = turn.streamed.unsaid(choice.index, &before, spans);
    let text = match &turn.streamed.events {
        // The final event of such a stream has the text that was sent.
        Some(_) if turn.request.is_stream() => format!("{}{unsent}", turn.streamed.sent(choice.index)),
        _ => whole.to_owned(),
    };
    // Providers refuse text parts without visible text.
    let is_left_out = turn.streamed.events.is_some() && text.trim().is_empty();
    (if is_left_out { String::new() } else { text }, unsent)
}

/// Returns the native calls whose form was changed, with the kind of tool whose form they had.
fn reformed(choices: &[JudgedMessage]) -> BTreeMap<String, ToolKind> {
    let calls = choices.iter().flat_map(|choice| &choice.calls).filter(|call| call.result.is_ok());
    let reformed = calls.filter(|call| call.repairs.iter().any(|repair| repair.kind == RepairKind::FormChanged));
    let kind = |call: &JudgedCall| if call.is_custom() { ToolKind::Function } else { ToolKind::Custom };
    reformed.map(|call| (call.made.id.clone(), kind(call))).collect()
}

/// Writes accepted calls of custom tools in their form. Returns whether there is one.
pub(in crate::pipeline) fn make_custom(tools: &ToolSet, choice: &mut Choice, calls: &[Call]) -> bool {
    let is_custom = |call: &&Call| tools.kind(&call.name) == Some(ToolKind::Custom);
    calls.iter().filter(is_custom).fold(false, |changed, call| choice.make_custom(&call.id) | changed)
}

/// Whether the finish reason is the `stop` that OpenAI itself returns for a forced call, and that clients expect. In
/// other answers, agents use the finish reason to detect calls.
fn is_stop_of_forced_call(turn: &Turn, choice: &Choice) -> bool {
    let is_free = matches!(turn.request.tool_choice(), ToolChoice::Auto | ToolChoice::Allowed { required: false, .. });
    !is_free && choice.finish_reason.as_deref() == Some("stop")
}

/// Returns the calls for the client in their common order: the kept calls and the repaired calls of the answer. Never
/// includes a call of a tool that the client does not have.
fn calls_for_client(
    turn: &Turn,
    offer: &Offer,
    calls: &[JudgedCall],
    kept: &KeptCalls,
    pass_faulty: bool,
    left: &mut LeftAnswer,
) -> Vec<Call> {
    let mut taken: HashSet<String> = kept.iter().map(|checked| checked.call().id.clone()).collect();
    let mut for_client: Vec<Call> = Vec::with_capacity(taken.len() + calls.len());
    let mut unjudged: Vec<String> = Vec::new();
    for placed in kept.in_order(calls) {
        let call = match placed {
            OrderedCall::Kept(checked) => {
                if checked.has_unjudged_values() {
                    unjudged.push(checked.call().id.clone());
                }
                checked.call().clone()
            }
            OrderedCall::Made(judged) => {
                let call = match &judged.result {
                    Ok(checked) => checked.call().clone(),
                    Err(_) if pass_faulty => {
                        left.has_faults = true;
                        judged.made.clone()
                    }
                    Err(_) => {
                        left.difference.withheld = true;
                        continue;
                    }
                };
                let call = with_fresh_id(call, |id| taken.contains(id));
                taken.insert(call.id.clone());
                left.difference.repaired |=
                    call != judged.made || (judged.result.is_ok() && !judged.repairs.is_empty());
                if judged.result.as_ref().is_ok_and(CheckedCall::has_unjudged_values) {
                    unjudged.push(call.id.clone());
                }
                call
            }
        };
        for_client.push(call);
    }
    for_client.retain(|call| !(offer.is_proxys(&call.name) && offer.tool_set.get(&call.name).is_some()));
    if !turn.request.parallel_tool_calls() && for_client.len() > 1 {
        left.difference.cut += u32::try_from(for_client.len() - 1).unwrap_or(u32::MAX);
        for_client.truncate(1);
    }
    left.leaves_unjudged = for_client.iter().any(|call| unjudged.contains(&call.id));
    for_client
}
