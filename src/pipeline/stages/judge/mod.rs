//! Judge: classifies an answer as text, clean calls, repaired calls or diagnoses. Never fails.

use std::cell::{LazyCell, OnceCell};

use crate::pipeline::caches::KnownReactions;
use crate::pipeline::cpu::CpuWork;
use crate::pipeline::services::Pipeline;
use crate::pipeline::state::{JudgedAnswer, Turn, TurnConversation};
use crate::pipeline::tools::{Offer, report_problems};
use callwright_judge::repair::rescue::Situation;
use callwright_judge::repair::rescue::decision::Delivery;
use callwright_judge::repair::{JudgedMessage, Spoken, TextAnswer, Unjudged, is_call_of_function, judge_message};
use callwright_judge::scanner::{Context, Conversation, JudgementBudget, Transcript};
use callwright_policy::Policy;
use callwright_telemetry::labels::Stage;
use callwright_types::rules::{Mode, UnknownParameters};
use callwright_types::{Message, Purpose, RepairNote, RequestPart, Similarity};
use callwright_upstream::ObservedCalls;
use callwright_wire::{Choice, Completion, ModelRequest, ToolChoice};

use super::secrets;

/// An answer is compared with the conversation. Reading the conversation is about this many times faster than
/// validating an answer.
const READ_MORE_QUICKLY: usize = 16;

/// Validates an answer of the model, and records the results in the trace. A called tool that was not offered but could
/// be is added to the offer, and then validated like the others.
pub(crate) async fn judge(
    pipeline: &Pipeline,
    turn: &mut Turn,
    conversation: &mut TurnConversation,
    completion: Completion,
    purpose: Purpose,
) -> JudgedAnswer {
    let bytes = completion.size() + turn.request.size() / READ_MORE_QUICKLY;
    let tenant = turn.tenant().to_owned();
    let judged = pipeline.cpu.run(&tenant, CpuWork::Answer, bytes, || {
        pipeline.timed(Stage::Judge, || {
            conversation.take_in(pipeline, turn, completion.called());
            let judged = judge_upstream(pipeline, turn, conversation, completion, purpose);
            if let Some(reason) = judged.unjudged_reason() {
                pipeline.metrics.unjudged_answers.inc(reason);
            }
            secrets::of_answer(turn, conversation.offer(), &judged);
            report_problems(&conversation.offer().tool_set, &pipeline.metrics);
            judged
        })
    });
    judged.await
}

/// Validates an answer that came from a plan, not from the model.
pub(crate) fn judge_planned(
    pipeline: &Pipeline,
    turn: &mut Turn,
    conversation: &TurnConversation,
    completion: Completion,
) -> JudgedAnswer {
    let judged = pipeline.timed(Stage::Judge, || {
        let judged = judged(pipeline, turn, conversation, completion, None);
        note_reaction(turn, &judged);
        judged
    });
    secrets::of_answer(turn, conversation.offer(), &judged);
    judged
}

fn judge_upstream(
    pipeline: &Pipeline,
    turn: &mut Turn,
    conversation: &TurnConversation,
    completion: Completion,
    purpose: Purpose,
) -> JudgedAnswer {
    let judged = judged(pipeline, turn, conversation, completion, Some(purpose));
    // Observes whether the upstream parses this model's calls itself, if the model could make calls.
    if conversation.offer().is_judged() && conversation.draft.request().tool_choice() != ToolChoice::None {
        turn.upstream.note_delivery(&turn.model, observed_calls(&judged));
    }
    if let Some(attempt) = turn.record.trace.attempts.last_mut() {
        attempt.verdict = Some(judged.verdict());
        attempt.calls = judged.calls().map(|call| call.made.clone()).collect();
        attempt.diagnoses = judged.diagnoses().cloned().collect();
        attempt.advice = judged.choices.iter().flat_map(JudgedMessage::advice).cloned().collect();
        attempt.repairs = judged.calls().flat_map(|call| call.repairs.iter().map(RepairNote::from)).collect();
    }
    note_reaction(turn, &judged);
    judged
}

/// Validates an answer of the upstream to a request of this purpose; without one, an answer of a plan, of which nothing
/// is expected.
fn judged(
    pipeline: &Pipeline,
    turn: &Turn,
    conversation: &TurnConversation,
    mut completion: Completion,
    purpose: Option<Purpose>,
) -> JudgedAnswer {
    let (offer, draft) = (conversation.offer(), &conversation.draft);
    let expectations = purpose.and_then(|_| conversation.plan_run.as_ref()?.expectations());
    let policy = turn.policy.clone();
    let (request, tool_choice) = (draft.request(), draft.request().tool_choice());
    let known = KnownConversation::of(&draft.committed);
    let toolset_index = &turn.tooling.toolset_index;
    let relevance = LazyCell::new(|| offer.relevance_to(&draft.committed, toolset_index, &policy.scan));
    let similarity = toolset_index.text_vectors.as_ref().map(|vectors| vectors as &dyn Similarity);
    let budget = JudgementBudget::start(pipeline.judgement);
    let failures = &policy.explain.failures;
    let memory = &pipeline.caches.parameter_reactions;
    let reactions = KnownReactions { tenant: turn.tenant(), conversation: &known, failures, memory };
    let has_calls = completion.choices().iter().any(|choice| !choice.message.calls().is_empty());
    if has_calls && offer.is_judged() && policy.scan.unknown_parameters == UnknownParameters::Auto {
        reactions.learn(&offer.tool_set);
    }
    let context = Context {
        conversation: Some(&known),
        relevance: Some(&relevance),
        expectations: expectations.as_ref(),
        similarity,
        reactions: Some(&reactions),
        namespaces: None,
        budget: Some(&budget),
    };
    let situation = Situation {
        allowed: tool_choice.allowed(),
        json_wanted: request.requires_json(),
        delivery: if turn.upstream.delivers_calls(&turn.model) { Delivery::Native } else { Delivery::Text },
        expressions: policy.repair.rescue.expressions,
        confirms: purpose == Some(Purpose::Confirmation),
        ..Situation::with(turn.evidence(request))
    };
    // Calls that were accepted earlier count as an answer.
    let needs_answer = tool_choice != ToolChoice::None && draft.kept.is_empty();
    let mut choices = Vec::with_capacity(completion.choices().len());
    for choice in completion.choices_mut() {
        choices.push(if turn.streamed.passed_on && (!offer.is_judged() || policy.mode == Mode::Off) {
            JudgedMessage::default()
        } else if turn.streamed.passed_on {
            JudgedMessage { unjudged: Some(Unjudged::Size), ..JudgedMessage::default() }
        } else if offer.is_judged() {
            let adopted = choice.message.adopt_custom_calls(&|call| is_call_of_function(call, &offer.tool_set));
            let (cut_off, sent) = (choice.is_cut_off(), turn.streamed.released(choice.index));
            let situation = Situation { cut_off, sent, ..situation };
            let mut judged = judge_choice(offer, &policy, choice, situation, &context, needs_answer);
            judged.note_functions(&adopted);
            judged
        } else {
            JudgedMessage::default()
        });
    }
    JudgedAnswer { completion, choices, is_declined: false }
}

/// Validates a choice. `situation` restricts the possible interpretations; `needs_answer` is whether an empty choice is
/// a fault.
fn judge_choice(
    offer: &Offer,
    policy: &Policy,
    choice: &Choice,
    situation: Situation<'_>,
    context: &Context<'_>,
    needs_answer: bool,
) -> JudgedMessage {
    let (message, tool_set) = (&choice.message, &offer.tool_set);
    let namespaces = message.namespaces();
    let context = &Context { namespaces: Some(&namespaces), ..*context };
    let repair = &policy.repair;
    let scan = &*policy.observe.scan(&policy.scan);
    // Text beside a native call is only text.
    let text = if message.has_unjudged_calls() { None } else { message.text() };
    let spoken = Spoken { text: text.as_deref(), calls: message.calls(), situation };
    let judged = judge_message(&spoken, tool_set, scan, repair, context);
    if !needs_answer || !message.is_only_text() {
        return judged;
    }
    let reasoning = message.reasoning();
    let answer = TextAnswer { text: text.as_deref(), reasoning: reasoning.as_deref(), situation };
    judged.or_no_answer(&answer, tool_set, scan, repair, context)
}

/// Completes the open rounds of the record with the next text and calls of the model.
fn note_reaction(turn: &mut Turn, judged: &JudgedAnswer) {
    let (Some(choice), Some(calls)) = (judged.completion.choices().first(), judged.choices.first()) else { return };
    if turn.record.trace.record.is_empty() {
        return;
    }
    let actions: Vec<String> = calls.calls.iter().map(|call| call.made.written()).collect();
    let thought = choice.message.text().filter(|text| !text.trim().is_empty());
    turn.record.complete_rounds(thought.as_deref(), Some(actions.join("; ").as_str()).filter(|text| !text.is_empty()));
}

/// Returns how the calls were delivered. One native call is sufficient for `Native`. Without one, a text that was meant
/// as a call counts as `Text`: a server that parses calls would have removed it.
fn observed_calls(judged: &JudgedAnswer) -> ObservedCalls {
    let mut messages = judged.completion.choices().iter().map(|choice| &choice.message);
    if messages.any(|message| !message.calls().is_empty() || message.has_unjudged_calls()) {
        ObservedCalls::Native
    } else if judged.choices.iter().any(JudgedMessage::called_in_text) {
        ObservedCalls::Text
    } else {
        ObservedCalls::None
    }
}

/// The conversation of a request, parsed at first use.
#[derive(Debug)]
struct KnownConversation<'a> {
    request: &'a ModelRequest,
    transcript: OnceCell<Transcript>,
}

impl<'a> KnownConversation<'a> {
    /// Creates the conversation of `request`.
    fn of(request: &'a ModelRequest) -> Self {
        Self { request, transcript: OnceCell::new() }
    }
}

impl Conversation for KnownConversation<'_> {
    fn transcript(&self) -> &Transcript {
        self.transcript.get_or_init(|| Transcript::read(self.request.messages().into_iter().map(Message::from)))
    }

    fn may_have_calls(&self) -> bool {
        self.request.may_have_calls()
    }

    fn visit_request(&self, visit: &mut dyn FnMut(RequestPart<'_>)) {
        self.request.visit_parts(visit);
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn request(messages: &str) -> ModelRequest {
        ModelRequest::parse(callwright_types::Protocol::Chat, Bytes::from(format!("{{\"messages\":{messages}}}")))
            .unwrap()
    }

    #[test]
    fn a_conversation_has_the_input_and_the_calls_since_the_user() {
        let request = request(
            r#"[{"role":"system","content":"Be brief."},{"role":"user","content":"Ulm?"},
                {"role":"assistant","content":"I look.","tool_calls":[
                    {"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},
                {"role":"tool","tool_call_id":"a","content":"sunny"},
                {"role":"assistant","content":null,"function_call":{"name":"g","arguments":"{}"}},
                {"role":"function","name":"g","content":"warm"}]"#,
        );
        let known = KnownConversation::of(&request);
        let transcript = known.transcript();
        assert!(known.may_have_calls());
        assert_eq!(transcript.texts(), ["Be brief.", "Ulm?", "sunny", "warm"]);
        let calls: Vec<_> = transcript.rounds().iter().flatten().collect();
        assert_eq!((calls[0].arguments.as_str(), calls[0].result.as_deref()), (r#"{"x":1}"#, Some("sunny")));
        assert_eq!((calls[1].name.as_str(), calls[1].result.as_deref()), ("g", Some("warm")));
    }
}
