//! Judge: an answer → text, clean calls, repaired calls, or diagnoses. Total: it never fails.

use std::cell::LazyCell;

use crate::domain::{Call, Diagnosis, Verdict};
use crate::openai::{Choice, Completion};
use crate::pipeline::dialogue::Judged;
use crate::pipeline::turn::Turn;
use crate::policy::Policy;
use crate::repair::rescue::Situation;
use crate::repair::{self, JudgedCall, JudgedMessage, Spoken};
use crate::scanner::{CheckedCall, Context};

use super::compose::Draft;
use super::known;
use super::offer::Offer;

/// An answer, judged.
#[derive(Debug)]
pub(crate) struct JudgedAnswer {
    /// The answer as it came.
    pub(crate) completion: Completion,
    /// What its choices say.
    pub(crate) choices: Vec<JudgedMessage>,
}

/// Judges an answer to the draft, counts what was found and notes it in the trace.
pub(crate) fn judge(turn: &mut Turn, offer: &Offer, draft: &Draft, completion: Completion) -> JudgedAnswer {
    let policy = turn.policy.clone();
    let transcript = LazyCell::new(|| known::transcript(draft.conversation()));
    let relevance = known::relevance(draft.conversation(), offer, &policy.scan);
    let context = Context { conversation: Some(&transcript), relevance: relevance.as_ref(), ..Context::default() };
    let choices: Vec<JudgedMessage> = completion
        .choices()
        .iter()
        .map(|choice| match offer.is_judged() {
            true => judge_choice(choice, offer, &policy, &context),
            false => JudgedMessage::default(),
        })
        .collect();
    let judged = JudgedAnswer { completion, choices };
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

fn judge_choice(choice: &Choice, offer: &Offer, policy: &Policy, context: &Context<'_>) -> JudgedMessage {
    let spoken =
        Spoken { text: None, calls: choice.message.calls(), situation: Situation::with(policy.repair.rescue.native) };
    repair::judge_message(&spoken, &offer.toolbook, &policy.scan, &policy.repair, context)
}

/// Completes the open rounds of the record with what the model said and called next.
fn note_reaction(turn: &mut Turn, judged: &JudgedAnswer) {
    let (Some(choice), Some(calls)) = (judged.completion.choices().first(), judged.choices.first()) else { return };
    if turn.record.trace().record.is_empty() {
        return;
    }
    let actions: Vec<String> = calls.calls.iter().map(|call| action(&call.made)).collect();
    let thought = choice.message.text().filter(|text| !text.trim().is_empty());
    turn.record.complete_rounds(thought.as_deref(), Some(actions.join("; ").as_str()).filter(|text| !text.is_empty()));
}

/// A call as the record of the feedback loop has it.
pub(crate) fn action(call: &Call) -> String {
    format!("{}({})", call.name, call.arguments)
}

impl JudgedAnswer {
    /// All calls of all choices.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &JudgedCall> {
        self.choices.iter().flat_map(|choice| &choice.calls)
    }

    /// All diagnoses.
    pub(crate) fn diagnoses(&self) -> impl Iterator<Item = &Diagnosis> {
        self.calls().filter_map(|call| call.result.as_ref().err()).flatten()
    }

    /// The verdict on this answer alone.
    pub(crate) fn verdict(&self) -> Verdict {
        let verdicts = || self.calls().map(JudgedCall::verdict);
        if verdicts().any(|verdict| verdict == Verdict::Faulty) {
            Verdict::Faulty
        } else if verdicts().any(|verdict| verdict == Verdict::Repaired) {
            Verdict::Repaired
        } else if verdicts().next().is_some() {
            Verdict::Clean
        } else {
            Verdict::Text
        }
    }

    /// Could the client make use of this answer, faulty as it may be? Not if all it holds are calls of our own tools.
    pub(crate) fn is_of_use(&self, offer: &Offer, kept: &[CheckedCall]) -> bool {
        let mut calls = self.calls().map(|call| &call.mended).chain(kept.iter().map(CheckedCall::call)).peekable();
        calls.peek().is_none() || calls.any(|call| !offer.is_proxys(&call.name))
    }

    /// What the dialogue needs to know; `kept` are the calls accepted earlier in the turn.
    pub(crate) fn summary(&self, offer: &Offer, kept: &[CheckedCall]) -> Judged {
        let checked = || self.calls().filter_map(|call| call.result.as_ref().ok()).chain(kept);
        let faulty = || self.calls().filter(|call| call.result.is_err());
        let proxy_calls = checked().filter(|call| offer.is_proxys(&call.call().name)).count();
        Judged {
            faulty: faulty().next().is_some(),
            faults_are_the_clients: faulty().any(|call| !offer.is_proxys(&call.mended.name)),
            client_calls: checked().count() - proxy_calls,
            proxy_calls,
        }
    }
}
