//! Verdicts: one label for a judged answer, and for a turn ([`TurnResult`](super::TurnResult)).

use serde::{Deserialize, Serialize};

/// Verdict on an answer, or on a turn. That on a turn is derived from its outcome and actions. The names are metric labels
/// and header values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    Unguarded,
}

impl Verdict {
    /// All verdicts, so that metrics can create all series at startup.
    pub const ALL: [Verdict; 8] = [
        Self::Text,
        Self::Clean,
        Self::Repaired,
        Self::Corrected,
        Self::Faulty,
        Self::Refused,
        Self::Failed,
        Self::Unguarded,
    ];

    /// Returns the metric label and header value.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Clean => "clean",
            Self::Repaired => "repaired",
            Self::Corrected => "corrected",
            Self::Faulty => "faulty",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Unguarded => "unguarded",
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.label())
    }
}
