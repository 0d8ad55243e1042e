//! Verdicts: one label for a judged answer, and for a turn ([`TurnResult`](super::TurnResult)).

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

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
