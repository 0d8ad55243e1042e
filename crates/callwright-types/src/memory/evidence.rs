//! Evidence that verifies an outcome, and requests with the tools that serve them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::Scope;

/// One verified outcome that supports a lesson or procedure. Nothing is learned without one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Method of verification.
    pub kind: EvidenceKind,
    /// Trace id of the turn, if the evidence is a turn.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trace: Option<String>,
    /// Session of the turn, if it belonged to one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<String>,
    /// Location of other evidence: `FILE:LINE` of a labelled file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub source: Option<String>,
    /// Time when the evidence was found.
    pub at: Timestamp,
}

impl Evidence {
    /// Whether both describe the same event, which counts once, however often it is found.
    pub fn is_same_event(&self, other: &Self) -> bool {
        self.kind == other.kind && self.trace == other.trace && self.source == other.source
    }
}

/// Method by which an outcome was verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum EvidenceKind {
    /// A call with a fault was followed by one that succeeded.
    Mended,
    /// A call with a failed outcome was followed by one that succeeded.
    Recovered,
    /// An application's verdict.
    Feedback,
    /// The expected answer in a labelled file.
    Labelled,
    /// An operator's mark.
    Operator,
}

crate::labels!(EvidenceKind);

/// The verification that a draft requires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backing {
    /// The proxy observed a success in the same turn.
    Seen,
    /// The client makes the calls with these ids; their results must not report a failure.
    Awaits(Vec<String>),
    /// Only a verdict on the turn by a person or an application.
    Verdict,
}

/// Counts of the turns for which a lesson or procedure was found. It is withheld in a random part of them, because its
/// benefit can only be measured by comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UsageCounter {
    /// Turns in which it was shown.
    pub uses: u64,
    /// Turns of `uses` without a fault in calls that it is about.
    pub helped: u64,
    /// Turns of `uses` with a fault in calls that it is about.
    pub hurt: u64,
    /// Turns in which it was withheld.
    pub withheld: u64,
    /// Turns of `withheld` with a fault in calls that it is about.
    pub withheld_hurt: u64,
    /// Store revision of the last turn counted, so that no turn is counted twice.
    pub counted: i64,
    /// Natural logarithm of the evidence that turns fail more often with it; see the sequential test in `experience`.
    pub evidence: f64,
}

/// A request with known right tools, from a verified outcome. Representations are learned from samples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSample {
    /// Id of the sample: `sam_` and the trace id of the turn; a turn makes one sample.
    pub id: String,
    /// Scope of the client that sent the request.
    pub scope: Scope,
    /// The request's text, without parts that look like an address, a number or a secret.
    pub query: String,
    /// Names of the tools that serve it, as offered to the model.
    pub tools: Vec<String>,
    /// The verified outcomes that support the sample.
    pub evidence: Vec<Evidence>,
    /// Time when it was learned.
    pub at: Timestamp,
}
