//! Outcome and actions of a turn, derived from the model's answer and from what left: calls with their ids, and text.

use callwright_judge::scanner::CheckedCall;
use callwright_types::rules::Mode;
use callwright_types::{RepairKind, RepairNote, TurnActions, TurnOutcome, UnjudgedReason};
use callwright_wire::Completion;

use crate::pipeline::state::{JudgedAnswer, Turn};
use crate::pipeline::tools::Offer;

/// Facts about the model's last answer, before it is changed.
#[derive(Debug, Clone, Copy)]
pub(super) struct ModelAnswer {
    unjudged: Option<UnjudgedReason>,
    /// Whether every call is right as the model made it, and no text was meant as a call.
    is_right: bool,
    verdict: callwright_types::Verdict,
}

impl ModelAnswer {
    pub(super) fn new(judged: &JudgedAnswer) -> Self {
        let is_right = judged.choices.iter().all(|choice| choice.rescued.is_none() && choice.no_call.is_none())
            && judged.calls().all(|call| call.result.is_ok() && call.repairs.is_empty());
        Self { unjudged: judged.unjudged_reason(), is_right, verdict: judged.verdict() }
    }
}

/// Facts about the answer that leaves.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LeftAnswer {
    /// Difference to the model's answer.
    pub(super) difference: TurnActions,
    /// Whether the client gets calls.
    pub(super) has_calls: bool,
    /// Whether the client gets a faulty call, a text that was meant as a call, or an empty answer.
    pub(super) has_faults: bool,
    /// Whether a call has values that were not validated.
    pub(super) leaves_unjudged: bool,
    /// Whether calls were not in the form of the protocol.
    pub(super) was_malformed: bool,
}

/// Concludes a turn whose answer the proxy may change.
pub(super) fn conclude(turn: &mut Turn, given: ModelAnswer, left: LeftAnswer) {
    if left.was_malformed
        && let Some(attempt) = turn.record.trace.attempts.last_mut()
    {
        attempt.repairs.push(RepairNote::of_call(RepairKind::FormCompleted, 0));
    }
    if left.leaves_unjudged {
        turn.record.unjudged(UnjudgedReason::Schema);
    }
    turn.record.changed(left.difference, left.has_calls && !left.has_faults);
    let outcome = match given.unjudged {
        _ if left.has_faults && given.unjudged.is_none() => TurnOutcome::FaultyCall,
        None if left.has_calls => TurnOutcome::Call,
        None if turn.record.awaits_call || turn.record.trace.exhausted.is_some() => TurnOutcome::NoCall,
        _ => TurnOutcome::Text,
    };
    finish(turn, given.unjudged, outcome);
}

/// Concludes a turn whose answer leaves as the model gave it: outside of `guard`, or without tools to judge by.
pub(super) fn conclude_unchanged(turn: &mut Turn, given: ModelAnswer, completion: &Completion) {
    let mut messages = completion.choices().iter().map(|choice| &choice.message);
    let has_calls = messages.any(|message| !message.calls().is_empty() || message.has_unjudged_calls());
    let outcome = match (given.is_right, has_calls) {
        (false, _) => TurnOutcome::FaultyCall,
        (true, true) => TurnOutcome::Call,
        (true, false) => TurnOutcome::Text,
    };
    let unjudged = match turn.policy.mode {
        Mode::Off => Some(UnjudgedReason::ModeOff),
        Mode::Guard => given.unjudged,
        Mode::Shadow => {
            turn.record.trace.shadow_verdict = Some(given.verdict);
            given.unjudged
        }
    };
    finish(turn, unjudged, outcome);
}

/// Concludes a turn whose client gets a text or an error of the proxy instead of the model's answer.
pub(super) fn conclude_without_answer(turn: &mut Turn, given: ModelAnswer) {
    turn.record.changed(TurnActions { withheld: true, ..TurnActions::default() }, false);
    finish(turn, given.unjudged, TurnOutcome::NoCall);
}

/// Concludes a turn that an upstream's failure ended, or whose answer is forwarded unread.
pub(super) fn conclude_relayed(turn: &mut Turn, is_failure: bool) {
    if is_failure {
        turn.record.conclude(TurnOutcome::UpstreamFailed);
    } else {
        finish(turn, Some(UnjudgedReason::ModeOff), TurnOutcome::Unjudged);
    }
}

fn finish(turn: &mut Turn, unjudged: Option<UnjudgedReason>, outcome: TurnOutcome) {
    if let Some(reason) = unjudged {
        turn.record.unjudged(reason);
    }
    let is_read = match turn.record.trace.unjudged {
        None => true,
        // What a turn that is not guarded records of its answer is no judgement.
        Some(UnjudgedReason::ModeOff) => false,
        // Another call of the answer is faulty.
        Some(_) => outcome == TurnOutcome::FaultyCall,
    };
    let outcome = turn.call_states.outcome(if is_read { outcome } else { TurnOutcome::Unjudged });
    turn.record.conclude(outcome);
}

/// Records the difference between the calls of an answer and those that the proxy is about to execute.
pub(crate) fn executed(turn: &mut Turn, offer: &Offer, judged: &JudgedAnswer, kept: usize, calls: &[CheckedCall]) {
    let made = judged.calls_of_first_choice();
    let own = made.iter().filter(|call| offer.is_proxys(&call.repaired.name));
    let mut difference = TurnActions::default();
    for call in own.filter(|call| call.result.is_ok()) {
        difference.repaired |= call.repaired != call.made;
    }
    difference.repaired |= judged.choices.first().is_some_and(|choice| choice.rescued.is_some());
    // After feedback, a model repeats calls that were accepted before.
    if kept == 0 {
        difference.cut = u32::try_from(made.len().saturating_sub(calls.len())).unwrap_or(u32::MAX);
    }
    turn.record.changed(difference, true);
    if calls.iter().any(CheckedCall::has_unjudged_values) {
        turn.record.unjudged(UnjudgedReason::Schema);
    }
}

/// Updates the outcome after the proxy's calls of a mixed answer were executed.
pub(crate) fn mixed(turn: &mut Turn) {
    if let Some(outcome) = turn.record.trace.outcome {
        let outcome = turn.call_states.outcome(outcome);
        turn.record.conclude(outcome);
    }
}
