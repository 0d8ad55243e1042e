//! Result of a turn: what the client got, and what the proxy did to the model's answer. [`Verdict`] is derived from it.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::is_default;

/// Kind of answer that the client got. The names are metric labels and header values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum TurnOutcome {
    /// Text, without a call.
    Text,
    /// Calls that passed validation.
    Call,
    /// At least one call with a fault.
    FaultyCall,
    /// Text or an error instead of calls: the model gave up after feedback, or a limit ended the turn.
    NoCall,
    /// The last call of a tool was not executed: a rule or a person refused it.
    Refused,
    /// The last call of a tool was executed and did not succeed.
    Failed,
    /// An error of the provider, or the proxy's error about one.
    UpstreamFailed,
    /// An answer that was not validated, for an [`UnjudgedReason`].
    Unjudged,
    /// Nothing: the client disconnected first.
    Unanswered,
}

/// Reason why an answer, or a part of it, was not validated. The names are metric labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum UnjudgedReason {
    /// The evaluation of its native calls exceeded `scanner.max_judgement_milliseconds`.
    CallsTime,
    /// The search for calls in its text exceeded the same limit.
    TextTime,
    /// The streamed answer has more content than a limit of its size.
    Size,
    /// The arguments of a native call are JSON that a parsed value cannot hold.
    CallsValues,
    /// A call has values that the schema of its tool could not validate: the schema, or the part for these values, was not
    /// compiled.
    Schema,
    /// The mode is `off`.
    ModeOff,
}

/// Actions of the proxy on the model's answer, compared call by call: the calls with their ids, and the text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnActions {
    /// Whether a call or a text differs from the model's: repaired, found in text, or with another id or form.
    #[serde(skip_serializing_if = "is_default")]
    pub repaired: bool,
    /// Number of times that the model got feedback.
    #[serde(skip_serializing_if = "is_default")]
    pub sent_back: u32,
    /// Whether the client did not get calls of the last answer because they are faulty or not validated.
    #[serde(skip_serializing_if = "is_default")]
    pub withheld: bool,
    /// Number of calls that were left out: repetitions, and those that `parallel_tool_calls: false` does not permit.
    #[serde(skip_serializing_if = "is_default")]
    pub cut: u32,
}

impl TurnActions {
    /// Returns the text of `Display`, without an allocation if nothing was done.
    pub fn text(&self) -> Cow<'static, str> {
        if is_default(self) { Cow::Borrowed(TurnAction::Nothing.label()) } else { Cow::Owned(self.to_string()) }
    }

    /// Whether what left differs from the model's last answer.
    pub const fn change_answer(self) -> bool {
        self.repaired || self.withheld || self.cut > 0
    }

    /// Returns the actions that were taken.
    pub fn taken(self) -> impl Iterator<Item = TurnAction> {
        let taken = [
            (TurnAction::Repaired, self.repaired),
            (TurnAction::SentBack, self.sent_back > 0),
            (TurnAction::Withheld, self.withheld),
            (TurnAction::Cut, self.cut > 0),
            (TurnAction::Nothing, is_default(&self)),
        ];
        taken.into_iter().filter_map(|(action, is_taken)| is_taken.then_some(action))
    }
}

/// Writes the header value: `nothing`, or a list such as `repaired, sent_back=2`.
impl fmt::Display for TurnActions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, action) in self.taken().enumerate() {
            let separator = if position > 0 { ", " } else { "" };
            write!(f, "{separator}{}", action.label())?;
            match action {
                TurnAction::SentBack => write!(f, "={}", self.sent_back)?,
                TurnAction::Cut => write!(f, "={}", self.cut)?,
                TurnAction::Nothing | TurnAction::Repaired | TurnAction::Withheld => {}
            }
        }
        Ok(())
    }
}

/// Kind of action on an answer. The names are metric labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum TurnAction {
    /// The answer left as the model gave it.
    Nothing,
    /// See [`TurnActions::repaired`].
    Repaired,
    /// See [`TurnActions::sent_back`].
    SentBack,
    /// See [`TurnActions::withheld`].
    Withheld,
    /// See [`TurnActions::cut`].
    Cut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnResult {
    /// Kind of answer that the client got.
    pub outcome: TurnOutcome,
    /// Actions of the proxy on the answer.
    pub actions: TurnActions,
    /// Whether a limit ended the turn.
    pub limit_reached: bool,
    /// Whether the proxy executed calls.
    pub has_executions: bool,
    /// Whether the last feedback requested the confirmation of a call, and the model intended none.
    pub is_declined: bool,
}

impl TurnResult {
    /// Returns the verdict: one label for outcome and actions. An answer that left unchanged is never `repaired`, and a
    /// changed one is never `clean`.
    pub fn verdict(self) -> Verdict {
        let Self { outcome, actions, limit_reached, has_executions, is_declined } = self;
        let is_corrected = actions.sent_back > u32::from(is_declined);
        match outcome {
            TurnOutcome::Unjudged | TurnOutcome::Unanswered => Verdict::Unguarded,
            TurnOutcome::Refused => Verdict::Refused,
            TurnOutcome::Failed | TurnOutcome::UpstreamFailed => Verdict::Failed,
            TurnOutcome::FaultyCall => Verdict::Faulty,
            _ if limit_reached || actions.withheld => Verdict::Faulty,
            TurnOutcome::NoCall => Verdict::Text,
            TurnOutcome::Text if !has_executions && !actions.change_answer() => Verdict::Text,
            TurnOutcome::Text | TurnOutcome::Call if is_corrected => Verdict::Corrected,
            TurnOutcome::Text | TurnOutcome::Call if actions.change_answer() => Verdict::Repaired,
            TurnOutcome::Text | TurnOutcome::Call => Verdict::Clean,
        }
    }
}

/// Verdict on an answer, or on a turn. That on a turn is derived from its outcome and actions. The names are metric labels
/// and header values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No call.
    Text,
    /// All calls were without a fault as received, and left unchanged.
    Clean,
    /// The answer was changed without the model: calls were repaired, got another id or were left out.
    Repaired,
    /// Calls were corrected after feedback.
    Corrected,
    /// Calls with faults were passed on, or a limit was reached.
    Faulty,
    /// The last call of a tool was valid and was not sent: a rule or a person refused it.
    Refused,
    /// The last call of a tool was sent and did not succeed, or the provider failed.
    Failed,
    /// Not evaluated: mode `off`, an endpoint that is passed through, an answer that exceeds the time limit of evaluation, or
    /// values whose schema was not compiled.
    #[default]
    Unguarded,
}

crate::labels!(TurnOutcome, UnjudgedReason, TurnAction, Verdict);

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = TurnResult> {
        TurnOutcome::ALL.into_iter().flat_map(|outcome| {
            (0_u32..128).map(move |bits| {
                let flag = |bit: u32| bits & (1 << bit) != 0;
                let actions = TurnActions {
                    repaired: flag(0),
                    sent_back: u32::from(flag(1)) + u32::from(flag(6)),
                    withheld: flag(2),
                    cut: u32::from(flag(3)),
                };
                TurnResult {
                    outcome,
                    actions,
                    limit_reached: flag(4),
                    has_executions: flag(5),
                    is_declined: flag(6) && actions.sent_back > 0,
                }
            })
        })
    }

    #[test]
    fn a_changed_answer_is_never_clean_an_unchanged_never_repaired() {
        for result in all() {
            let verdict = result.verdict();
            assert!(!(result.actions.change_answer() && verdict == Verdict::Clean), "{result:?}");
            assert!(result.actions.change_answer() || verdict != Verdict::Repaired, "{result:?}");
            assert!(result.actions.sent_back > 0 || verdict != Verdict::Corrected, "{result:?}");
            let has_right_call = result.outcome == TurnOutcome::Call || result.has_executions;
            let is_of_calls = matches!(verdict, Verdict::Clean | Verdict::Corrected);
            assert!(has_right_call || !is_of_calls || result.actions.change_answer(), "{result:?} {verdict}");
        }
    }

    #[test]
    fn actions_are_written_for_a_header() {
        let written = |actions: TurnActions| actions.to_string();
        assert_eq!(written(TurnActions::default()), "nothing");
        let all = TurnActions { repaired: true, sent_back: 2, withheld: true, cut: 1 };
        assert_eq!(written(all), "repaired, sent_back=2, withheld, cut=1");
        assert_eq!(serde_json::to_string(&TurnActions::default()).unwrap(), "{}");
        assert_eq!(serde_json::from_str::<TurnActions>("{\"cut\":3}").unwrap().cut, 3);
    }
}
