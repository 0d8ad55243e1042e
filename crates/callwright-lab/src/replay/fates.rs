//! Outcomes of calls and turns under the replayed policy.

use serde::Serialize;

use super::answer::ReplayedAnswer;
use callwright_types::{Limits, Trace};

/// Outcome of a call, from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fate {
    /// Forwarded unchanged.
    Clean,
    /// Repaired without the model.
    Repaired,
    /// Sent back to the model with the diagnosis.
    SentBack,
    /// Faulty, with no limit left for another request: handled by the policy's `on_exhausted`, or recorded for a
    /// person.
    HandedOver,
}

/// Numbers of calls by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Fates {
    /// Forwarded unchanged.
    pub clean: u64,
    /// Repaired without the model.
    pub repaired: u64,
    /// Sent back to the model.
    pub sent_back: u64,
    /// Faulty, with no limit left for another request.
    pub handed_over: u64,
}

impl Fates {
    /// Returns the total.
    pub fn all(&self) -> u64 {
        self.clean + self.repaired + self.sent_back + self.handed_over
    }

    /// Returns the number of calls that would not be forwarded unchanged.
    pub fn touched(&self) -> u64 {
        self.all() - self.clean
    }

    pub(super) fn count(&mut self, fate: Fate) {
        *match fate {
            Fate::Clean => &mut self.clean,
            Fate::Repaired => &mut self.repaired,
            Fate::SentBack => &mut self.sent_back,
            Fate::HandedOver => &mut self.handed_over,
        } += 1;
    }
}

/// Numbers of turns by the worst outcome of their calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TurnFates {
    /// Turns without calls.
    pub text: u64,
    #[serde(flatten)]
    pub calling: Fates,
    /// Turns with an unknown outcome.
    pub unknown: u64,
}

impl TurnFates {
    /// Returns the total.
    pub fn all(&self) -> u64 {
        self.text + self.calling.all() + self.unknown
    }
}

/// Applies the limits of a turn, as the proxy does.
pub(super) struct ReplayBudget<'a> {
    trace: &'a Trace,
    limits: &'a Limits,
    /// Number of choices: feedback is impossible with several.
    choices: usize,
    rounds: u32,
}

impl<'a> ReplayBudget<'a> {
    pub(super) fn of(trace: &'a Trace, limits: &'a Limits, choices: usize) -> Self {
        Self { trace, limits, choices, rounds: 0 }
    }

    /// Returns the outcomes of the calls of the next answer.
    pub(super) fn fates(&mut self, answer: &ReplayedAnswer) -> Vec<Fate> {
        let is_faulty = answer.calls.iter().any(|call| !call.codes.is_empty());
        let sent_back = is_faulty && self.may_send_feedback(answer.attempt);
        self.rounds += u32::from(sent_back);
        let fates = answer.calls.iter().map(|call| match (call.codes.is_empty(), call.repairs.is_empty()) {
            (false, _) if sent_back => Fate::SentBack,
            (false, _) => Fate::HandedOver,
            (true, false) => Fate::Repaired,
            (true, true) => Fate::Clean,
        });
        fates.collect()
    }

    fn may_send_feedback(&self, attempt: usize) -> bool {
        let spent = self.trace.attempts.iter().take(attempt + 1);
        let (requests, tokens, milliseconds) = spent.fold((0, 0_u64, 0.0), |(requests, tokens, time), attempt| {
            (requests + 1, tokens.saturating_add(attempt.usage.total_tokens), time + attempt.duration_ms)
        });
        let Limits { static_feedback, upstream_requests, tokens: most_tokens, seconds, .. } = *self.limits;
        self.choices == 1
            && self.rounds < static_feedback
            && requests < upstream_requests
            && (most_tokens == 0 || tokens < most_tokens)
            && milliseconds / 1_000.0 < seconds_as_float(seconds)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a limit of some minutes")]
fn seconds_as_float(seconds: u64) -> f64 {
    seconds as f64
}
