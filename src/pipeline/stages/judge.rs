//! Judge: an answer → text, clean calls, repaired calls, or diagnoses. Total: it never fails.

use crate::pipeline::dialogue::Judged;
use crate::pipeline::turn::Turn;
use callwright_judge::repair::rescue::Situation;
use callwright_judge::repair::rescue::decision::Delivery;
use callwright_judge::repair::{JudgedCall, JudgedMessage, Spoken, TextAnswer, Unjudged, judge_message};
use callwright_judge::scanner::{Budget, CheckedCall, Context, Expectations};
use callwright_openai::{ChatRequest, Choice, Completion, ToolChoice};
use callwright_policy::Policy;
use callwright_types::rules::Evidence;
use callwright_types::{Diagnosis, Similarity, Verdict};

use super::compose::Draft;
use super::delivery;
use super::known::{self, Known};
use super::offer::Offer;

/// An answer, judged.
#[derive(Debug)]
pub(crate) struct JudgedAnswer {
    /// The answer as it came.
    pub(crate) completion: Completion,
    /// What its choices say.
    pub(crate) choices: Vec<JudgedMessage>,
    /// Whether it may have been a call, and is taken for text.
    pub(crate) is_declined: bool,
}

/// Judges an answer to the draft, counts what was found and notes it in the trace.
pub(crate) fn judge(
    turn: &mut Turn,
    offer: &Offer,
    draft: &Draft,
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

/// Judges an answer that a plan gave in the model's place.
pub(crate) fn planned(turn: &mut Turn, offer: &Offer, draft: &Draft, completion: Completion) -> JudgedAnswer {
    let judged = judged(turn, offer, draft, completion, None);
    note_reaction(turn, &judged);
    judged
}

fn judged(
    turn: &Turn,
    offer: &Offer,
    draft: &Draft,
    completion: Completion,
    expectations: Option<&Expectations>,
) -> JudgedAnswer {
    let policy = turn.policy.clone();
    let (request, tool_choice) = (draft.request(), draft.request().tool_choice());
    let known = Known::of(draft.conversation());
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
    // Calls that were accepted before are an answer.
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

/// Judges a choice. `situation` says what the request lets it be, `needs_answer` whether it has to say or call anything.
fn judge_choice(
    offer: &Offer,
    policy: &Policy,
    choice: &Choice,
    situation: Situation<'_>,
    context: &Context<'_>,
    needs_answer: bool,
) -> JudgedMessage {
    let (message, toolbook) = (&choice.message, &offer.toolbook);
    let Policy { scan, repair, .. } = policy;
    // Where a call came natively, the text beside it is only text.
    let text = if message.has_unjudged_calls() { None } else { message.text() };
    let spoken = Spoken { text: text.as_deref(), calls: message.calls(), situation };
    let judged = judge_message(&spoken, toolbook, scan, repair, context);
    if !needs_answer || !message.is_only_text() {
        return judged;
    }
    let reasoning = message.reasoning();
    let answer = TextAnswer { text: text.as_deref(), reasoning: reasoning.as_deref(), situation };
    judged.or_no_answer(&answer, toolbook, scan, repair, context)
}

/// How sure it must be that a text is a call, by the request that it answers.
pub(crate) fn evidence(turn: &Turn, request: &ChatRequest) -> Evidence {
    let rescue = &turn.policy.repair.rescue;
    match request.tool_choice() {
        ToolChoice::None => Evidence::Off,
        _ if turn.upstream.delivers_calls(&turn.model) => rescue.native,
        _ => rescue.text,
    }
}

/// Completes the open rounds of the record with what the model said and called next.
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
    /// All calls of all choices.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &JudgedCall> {
        self.choices.iter().flat_map(|choice| &choice.calls)
    }

    /// All diagnoses.
    pub(crate) fn diagnoses(&self) -> impl Iterator<Item = &Diagnosis> {
        self.choices.iter().flat_map(JudgedMessage::diagnoses)
    }

    /// What of the answer was not judged within its budget.
    pub(crate) fn unjudged(&self) -> Option<Unjudged> {
        self.choices.iter().find_map(|choice| choice.unjudged)
    }

    /// The verdict on this answer alone.
    pub(crate) fn verdict(&self) -> Verdict {
        if self.unjudged().is_some() {
            return Verdict::Unguarded;
        }
        let has = |verdict| self.choices.iter().any(|choice| choice.verdict() == verdict);
        let worst = [Verdict::Faulty, Verdict::Repaired, Verdict::Clean].into_iter().find(|verdict| has(*verdict));
        worst.unwrap_or(Verdict::Text)
    }

    /// Could the client make use of this answer, faulty as it may be? Not if all it holds are calls of our own tools.
    pub(crate) fn is_of_use(&self, offer: &Offer, kept: &[CheckedCall]) -> bool {
        let mut calls = self.calls().map(|call| &call.mended).chain(kept.iter().map(CheckedCall::call)).peekable();
        calls.peek().is_none() || calls.any(|call| !offer.is_proxys(&call.name))
    }

    /// Whether the answer may be a call or about one.
    pub(crate) fn is_unsure(&self) -> bool {
        self.choices.iter().any(|choice| choice.is_unsure)
    }

    /// Whether the answer makes a call: one that was read, right or faulty, or one that is not judged.
    pub(crate) fn makes_calls(&self) -> bool {
        let is_unjudged = |choice: &Choice| choice.message.has_unjudged_calls();
        self.calls().next().is_some() || self.completion.choices().iter().any(is_unjudged)
    }

    /// The answer as text: what may have been a call is only noted.
    pub(crate) fn into_text(mut self) -> Self {
        for choice in self.choices.iter_mut().filter(|choice| choice.is_unsure) {
            self.is_declined = true;
            choice.is_unsure = false;
            choice.no_call_advice = choice.no_call.take();
        }
        self
    }

    /// What the dialogue needs to know; `kept` are the calls accepted earlier in the turn.
    pub(crate) fn summary(&self, turn: &Turn, offer: &Offer, kept: &[CheckedCall]) -> Judged {
        let checked = || self.calls().filter_map(|call| call.result.as_ref().ok()).chain(kept);
        let faulty = || self.calls().filter(|call| call.result.is_err());
        let no_call = self.choices.iter().any(|choice| choice.no_call.is_some());
        let proxy_calls = checked().filter(|call| offer.is_proxys(&call.call().name)).count();
        let of_others: usize =
            self.completion.choices().iter().map(|choice| choice.message.unjudged_calls().len()).sum();
        let client_calls = checked().count() - proxy_calls + of_others;
        let is_unjudged_text = self.choices.iter().any(|choice| choice.unjudged == Some(Unjudged::Text));
        // In the legacy form a message makes one call, without an id that an answer could be known by again.
        let only_the_clients = turn.request.is_legacy() && client_calls > 0;
        Judged {
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
