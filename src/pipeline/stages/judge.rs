//! Judge: classifies an answer as text, clean calls, repaired calls or diagnoses. Never fails.

use crate::pipeline::dialogue::JudgedSummary;
use crate::pipeline::turn::Turn;
use callwright_judge::repair::rescue::Situation;
use callwright_judge::repair::rescue::decision::Delivery;
use callwright_judge::repair::{JudgedCall, JudgedMessage, Spoken, TextAnswer, Unjudged, judge_message};
use callwright_judge::scanner::{Budget, CheckedCall, Context, Expectations};
use callwright_openai::{ChatRequest, Choice, Completion, ToolChoice};
use callwright_policy::Policy;
use callwright_types::rules::Evidence;
use callwright_types::{Diagnosis, Similarity, Verdict};

use super::compose::ChatDraft;
use super::delivery;
use super::known::{self, KnownConversation};
use super::offer::Offer;

/// A validated answer.
#[derive(Debug)]
pub(crate) struct JudgedAnswer {
    /// The original answer.
    pub(crate) completion: Completion,
    /// Validation results of its choices.
    pub(crate) choices: Vec<JudgedMessage>,
    /// Whether the answer may have been a call and is treated as text.
    pub(crate) is_declined: bool,
}

/// Validates an answer to the draft, and records the results in the trace.
pub(crate) fn judge(
    turn: &mut Turn,
    offer: &Offer,
    draft: &ChatDraft,
    completion: Completion,
    expectations: Option<&Expectations>,
) -> JudgedAnswer {
    let judged = judged(turn, offer, draft, completion, expectations);
    delivery::note(turn, offer, draft.request(), &judged);
    if let Some(attempt) = turn.record.trace_mut().attempts.last_mut() {
        attempt.verdict = Some(judged.verdict());
        attempt.calls = judged.calls().map(|call| call.made.clone()).collect();
        attempt.diagnoses = judged.diagnoses().cloned().collect();
        attempt.advice = judged.choices.iter().flat_map(JudgedMessage::advice).cloned().collect();
        attempt.repairs = judged.calls().flat_map(|call| call.repairs.iter().cloned()).collect();
    }
    note_reaction(turn, &judged);
    judged
}

/// Validates an answer that came from a plan, not from the model.
pub(crate) fn planned(turn: &mut Turn, offer: &Offer, draft: &ChatDraft, completion: Completion) -> JudgedAnswer {
    let judged = judged(turn, offer, draft, completion, None);
    note_reaction(turn, &judged);
    judged
}

fn judged(
    turn: &Turn,
    offer: &Offer,
    draft: &ChatDraft,
    completion: Completion,
    expectations: Option<&Expectations>,
) -> JudgedAnswer {
    let policy = turn.policy.clone();
    let (request, tool_choice) = (draft.request(), draft.request().tool_choice());
    let known = KnownConversation::of(draft.conversation());
    let shelf = &turn.snapshot.shelf;
    let relevance = known::relevance(draft.conversation(), offer, shelf, &policy.scan);
    let similarity = shelf.text_vectors().map(|vectors| vectors as &dyn Similarity);
    let budget = Budget::start(turn.snapshot.judgement);
    let context = Context {
        conversation: Some(&known),
        relevance: relevance.as_ref(),
        expectations,
        similarity,
        budget: Some(&budget),
    };
    let notations = turn.snapshot.notations.clone();
    let situation = Situation {
        notations: Some(&notations),
        allowed: tool_choice.allowed(),
        json_wanted: request.wants_json(),
        delivery: if turn.upstream.delivers_calls(&turn.model) { Delivery::Native } else { Delivery::Text },
        expressions: policy.repair.rescue.expressions,
        ..Situation::with(evidence(turn, request))
    };
    // Calls that were accepted earlier count as an answer.
    let needs_answer = tool_choice != ToolChoice::None && draft.kept.is_empty();
    let judge = |choice: &Choice| {
        let (cut_off, sent) = (choice.is_cut_off(), turn.streamed.released(choice.index));
        judge_choice(offer, &policy, choice, Situation { cut_off, sent, ..situation }, &context, needs_answer)
    };
    let choices = completion.choices().iter();
    let choices =
        choices.map(|choice| if offer.is_judged() { judge(choice) } else { JudgedMessage::default() }).collect();
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
    let Policy { scan, repair, .. } = policy;
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

/// Returns the evidence that policy requires for treating a text as a call, depending on the request.
pub(crate) fn evidence(turn: &Turn, request: &ChatRequest) -> Evidence {
    let rescue = &turn.policy.repair.rescue;
    match request.tool_choice() {
        ToolChoice::None => Evidence::Off,
        _ if turn.upstream.delivers_calls(&turn.model) => rescue.native,
        _ => rescue.text,
    }
}

/// Completes the open rounds of the record with the next text and calls of the model.
fn note_reaction(turn: &mut Turn, judged: &JudgedAnswer) {
    let (Some(choice), Some(calls)) = (judged.completion.choices().first(), judged.choices.first()) else { return };
    if turn.record.trace().record.is_empty() {
        return;
    }
    let actions: Vec<String> = calls.calls.iter().map(|call| call.made.written()).collect();
    let thought = choice.message.text().filter(|text| !text.trim().is_empty());
    turn.record.complete_rounds(thought.as_deref(), Some(actions.join("; ").as_str()).filter(|text| !text.is_empty()));
}

impl JudgedAnswer {
    /// Returns all calls of all choices.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &JudgedCall> {
        self.choices.iter().flat_map(|choice| &choice.calls)
    }

    /// Returns all diagnoses.
    pub(crate) fn diagnoses(&self) -> impl Iterator<Item = &Diagnosis> {
        self.choices.iter().flat_map(JudgedMessage::diagnoses)
    }

    /// Returns the part of the answer that was not validated within its budget.
    pub(crate) fn unjudged(&self) -> Option<Unjudged> {
        self.choices.iter().find_map(|choice| choice.unjudged)
    }

    /// Returns the verdict on this answer alone.
    pub(crate) fn verdict(&self) -> Verdict {
        if self.unjudged().is_some() {
            return Verdict::Unguarded;
        }
        let has = |verdict| self.choices.iter().any(|choice| choice.verdict() == verdict);
        let worst = [Verdict::Faulty, Verdict::Repaired, Verdict::Clean].into_iter().find(|verdict| has(*verdict));
        worst.unwrap_or(Verdict::Text)
    }

    /// Whether the client can use this answer, even if it is faulty. An answer with only calls of the proxy's tools is
    /// useless.
    pub(crate) fn is_of_use(&self, offer: &Offer, kept: &[CheckedCall]) -> bool {
        let mut calls = self.calls().map(|call| &call.mended).chain(kept.iter().map(CheckedCall::call)).peekable();
        calls.peek().is_none() || calls.any(|call| !offer.is_proxys(&call.name))
    }

    /// Whether the answer may be a call or may only describe one.
    pub(crate) fn is_unsure(&self) -> bool {
        self.choices.iter().any(|choice| choice.is_unsure)
    }

    /// Whether the answer makes a call: a readable one, correct or faulty, or one that is not validated.
    pub(crate) fn makes_calls(&self) -> bool {
        let is_unjudged = |choice: &Choice| choice.message.has_unjudged_calls();
        self.calls().next().is_some() || self.completion.choices().iter().any(is_unjudged)
    }

    /// Converts the answer to text; a possible call is only recorded.
    pub(crate) fn into_text(mut self) -> Self {
        for choice in self.choices.iter_mut().filter(|choice| choice.is_unsure) {
            self.is_declined = true;
            choice.is_unsure = false;
            choice.no_call_advice = choice.no_call.take();
        }
        self
    }

    /// Returns the summary for the dialogue; `kept` contains the calls accepted earlier in the turn.
    pub(crate) fn summary(&self, turn: &Turn, offer: &Offer, kept: &[CheckedCall]) -> JudgedSummary {
        let checked = || self.calls().filter_map(|call| call.result.as_ref().ok()).chain(kept);
        let faulty = || self.calls().filter(|call| call.result.is_err());
        let no_call = self.choices.iter().any(|choice| choice.no_call.is_some());
        let proxy_calls = checked().filter(|call| offer.is_proxys(&call.call().name)).count();
        let of_others: usize =
            self.completion.choices().iter().map(|choice| choice.message.unjudged_calls().len()).sum();
        let client_calls = checked().count() - proxy_calls + of_others;
        let is_unjudged_text = self.choices.iter().any(|choice| choice.unjudged == Some(Unjudged::Text));
        // In the legacy form, a message makes one call without an id, so an answer could not be recognised later.
        let only_the_clients = turn.request.is_legacy() && client_calls > 0;
        JudgedSummary {
            faulty: no_call || faulty().next().is_some(),
            unsure: self.is_unsure(),
            no_answer: self.choices.iter().any(|choice| choice.no_answer().is_some()),
            // A text that should have been a call is still a text.
            faults_are_the_clients: no_call
                || is_unjudged_text
                || faulty().any(|call| !offer.is_proxys(&call.mended.name)),
            unjudged: self.unjudged().is_some(),
            client_calls,
            proxy_calls: if only_the_clients { 0 } else { proxy_calls },
        }
    }
}
