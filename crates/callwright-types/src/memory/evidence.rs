//! What verifies that something was right.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Trace;

/// One verified outcome that a lesson or procedure rests on. Nothing is learned without one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// How it was verified.
    pub kind: EvidenceKind,
    /// Trace id of the turn, where it was one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trace: Option<String>,
    /// The turn's session, where it belonged to one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<String>,
    /// Where else it stands: `FILE:LINE` of a labelled file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub source: Option<String>,
    /// When it was found.
    pub at: Timestamp,
}

impl Evidence {
    /// A turn that was right: this verifies it, found then.
    pub fn of_turn(kind: EvidenceKind, trace: &Trace, at: Timestamp) -> Self {
        Self { kind, trace: Some(trace.id.clone()), session: trace.session.clone(), source: None, at }
    }

    /// Do both tell of the same event? It counts once, however often it is found.
    pub fn is_same_event(&self, other: &Self) -> bool {
        self.kind == other.kind && self.trace == other.trace && self.source == other.source
    }
}

/// How an outcome was verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceKind {
    /// A call in which a fault was found was followed by one that worked.
    Mended,
    /// A call whose outcome was a failure was followed by one that worked.
    Recovered,
    /// An application's verdict.
    Feedback,
    /// The expected answer in a labelled file.
    Labelled,
    /// A mark by an operator.
    Operator,
}

impl EvidenceKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Mended, Self::Recovered, Self::Feedback, Self::Labelled, Self::Operator];

    /// Metric label and value in files.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Mended => "mended",
            Self::Recovered => "recovered",
            Self::Feedback => "feedback",
            Self::Labelled => "labelled",
            Self::Operator => "operator",
        }
    }
}
