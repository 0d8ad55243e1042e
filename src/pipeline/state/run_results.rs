//! Results of the calls that the proxy executed.

use std::collections::BTreeMap;

use callwright_judge::scanner::CheckedCall;
use callwright_types::outcome::CredentialFault;
use callwright_types::promise::Shortfall;
use callwright_types::{Explanation, Outcome, TurnOutcome};

/// Result of one executed call.
#[derive(Debug)]
pub(crate) struct RanCall {
    pub(crate) checked: CheckedCall,
    pub(crate) outcome: Outcome,
    /// `None` if the outcome is no failure of the API.
    pub(crate) explanation: Option<Explanation>,
    /// Whether the method is safe (RFC 9110 section 9.2.1).
    pub(crate) only_reads: bool,
    /// The fault of the toolset's credential, if it caused the failure.
    pub(crate) credential: Option<CredentialFault>,
    /// The deviation from the documented answer, if it caused the failure.
    pub(crate) shortfall: Option<Shortfall>,
    /// Why a check doubts that a successful outcome is what was requested.
    pub(crate) doubt: Option<String>,
    /// Whether the model has to correct the call, which costs a round of dynamic feedback.
    pub(crate) failed: bool,
}

/// State of a tool's last calls, from the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CallState {
    /// The call was sent and succeeded.
    Succeeded,
    /// The call was sent and did not succeed, or its outcome is unknown.
    Failed,
    /// The call was not sent: a rule or a person refused it.
    Refused,
}

/// The state of each tool's last calls in a turn.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallStates {
    by_tool: BTreeMap<String, CallState>,
}

impl CallStates {
    /// Replaces the states of the tools that were called now. Of several calls of one tool, the worst counts.
    pub(crate) fn note(&mut self, ran: &[RanCall]) {
        let mut now: BTreeMap<&str, CallState> = BTreeMap::new();
        for call in ran {
            let state = now.entry(call.checked.call().name.as_str()).or_insert(CallState::Succeeded);
            *state = (*state).max(call.state());
        }
        self.by_tool.extend(now.into_iter().map(|(tool, state)| (tool.to_owned(), state)));
    }

    /// Returns the outcome of a turn whose answer has the outcome `answer`. Calls that did not succeed matter more than a
    /// valid answer; faults that remain matter more than earlier calls.
    pub(crate) fn outcome(&self, answer: TurnOutcome) -> TurnOutcome {
        match (answer, self.by_tool.values().max()) {
            (TurnOutcome::FaultyCall | TurnOutcome::Unjudged, _) => answer,
            (_, Some(CallState::Refused)) => TurnOutcome::Refused,
            (_, Some(CallState::Failed)) => TurnOutcome::Failed,
            (_, Some(CallState::Succeeded) | None) => answer,
        }
    }
}

impl RanCall {
    /// Returns the state of the call.
    fn state(&self) -> CallState {
        match &self.outcome {
            outcome if outcome.refusal().is_some() => CallState::Refused,
            Outcome::Answered(_) if self.explanation.is_none() => CallState::Succeeded,
            _ => CallState::Failed,
        }
    }

    /// Creates the result of a call that cannot fail.
    pub(crate) fn succeeded(checked: CheckedCall, outcome: Outcome) -> Self {
        let (explanation, credential, shortfall) = (None, None, None);
        Self { checked, outcome, explanation, only_reads: true, credential, shortfall, doubt: None, failed: false }
    }
}
