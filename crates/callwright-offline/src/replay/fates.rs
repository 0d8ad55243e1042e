//! What would have become of calls and turns.

use serde::Serialize;

use super::answer::{Answer, CountedCall};
use callwright_types::{Limits, Trace};

/// What would have become of a call, from the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fate {
    /// Passed on as it came.
    Clean,
    /// Changed without the model.
    Repaired,
    /// Sent back to the model with what is wrong.
    SentBack,
    /// Faulty, and no limit left to ask the model again: the policy's `on_exhausted`, or the record for a person.
    HandedOver,
}

/// Calls by what would have become of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Fates {
    /// Passed on as they came.
    pub clean: u64,
    /// Changed without the model.
    pub repaired: u64,
    /// Sent back to the model.
    pub sent_back: u64,
    /// Faulty, and no limit left to ask the model again.
    pub handed_over: u64,
}

impl Fates {
    /// All of them.
    pub fn all(&self) -> u64 {
        self.clean + self.repaired + self.sent_back + self.handed_over
    }

    /// Those that would not have been passed on as they came.
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

    pub(super) fn add(&mut self, other: &Self) {
        self.clean += other.clean;
        self.repaired += other.repaired;
        self.sent_back += other.sent_back;
        self.handed_over += other.handed_over;
    }
}

/// Turns by what would have become of the worst of their calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TurnFates {
    /// No call.
    pub text: u64,
    /// With calls.
    #[serde(flatten)]
    pub calling: Fates,
    /// It cannot be told.
    pub unknown: u64,
}

impl TurnFates {
    /// All of them.
    pub fn all(&self) -> u64 {
        self.text + self.calling.all() + self.unknown
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.text += other.text;
        self.calling.add(&other.calling);
        self.unknown += other.unknown;
    }
}

/// Follows a turn through the limits, as the dialogue of a turn does.
pub(super) struct Budget<'a> {
    trace: &'a Trace,
    limits: &'a Limits,
    /// With several choices there is no one conversation to go on with.
    choices: usize,
    rounds: u32,
}

impl<'a> Budget<'a> {
    pub(super) fn of(trace: &'a Trace, limits: &'a Limits, choices: usize) -> Self {
        Self { trace, limits, choices, rounds: 0 }
    }

    /// What would have become of the calls of the next answer.
    pub(super) fn fates(&mut self, answer: &Answer) -> Vec<Fate> {
        let is_faulty = answer.calls.iter().any(|call| !call.codes.is_empty());
        let sent_back = is_faulty && self.may_ask(answer.attempt);
        self.rounds += u32::from(sent_back);
        let fate = |call: &CountedCall| match (call.codes.is_empty(), call.repairs.is_empty()) {
            (false, _) if sent_back => Fate::SentBack,
            (false, _) => Fate::HandedOver,
            (true, false) => Fate::Repaired,
            (true, true) => Fate::Clean,
        };
        answer.calls.iter().map(fate).collect()
    }

    fn may_ask(&self, attempt: usize) -> bool {
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
