//! Data of memory in a trace.

use serde::{Deserialize, Serialize};

use super::{LessonDraft, ProcedureDraft, Scope};

/// The use of memory in a turn: what was recalled, and what may be learned from the turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryNote {
    /// Scope whose memory the turn uses and adds to.
    pub scope: Scope,
    /// Whether a model may abstract notes for lessons from the turn (`recall.reflect`).
    #[serde(skip_serializing_if = "crate::is_default", default)]
    pub reflect: bool,
    /// Lessons that were recalled, best first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub lessons: Vec<Recalled>,
    /// Procedures that were found, to be shown to the model or used as a plan template.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub procedures: Vec<Recalled>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub drafts: Vec<LessonDraft>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub workflow: Option<ProcedureDraft>,
    /// Results of the client's own calls since the last user message.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub returned: Vec<Returned>,
}

impl MemoryNote {
    /// Creates a note without recalled memory and without drafts.
    pub fn of(scope: Scope) -> Self {
        let (reflect, lessons, procedures, drafts, workflow, returned) = Default::default();
        Self { scope, reflect, lessons, procedures, drafts, workflow, returned }
    }

    /// Whether the turn adds to memory: drafts, results or counts.
    pub fn teaches(&self) -> bool {
        let shown = self.lessons.iter().chain(&self.procedures);
        shown.into_iter().any(|recalled| !recalled.again)
            || !self.drafts.is_empty()
            || self.workflow.is_some()
            || !self.returned.is_empty()
    }
}

/// A lesson or procedure that was found for a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recalled {
    /// Id of the lesson or procedure.
    pub id: String,
    /// Whether it was decided in an earlier turn, at the same user message. That turn counts it.
    #[serde(skip_serializing_if = "crate::is_default", default)]
    pub again: bool,
    /// Whether it was withheld, to measure the turn's result without it.
    #[serde(skip_serializing_if = "crate::is_default", default)]
    pub withheld: bool,
    /// Probability with which it was shown, from 0 to 1, in the draw that decided.
    pub chance: f64,
}

/// A call that the client made and whose result it returned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Returned {
    /// Id of the call.
    pub call: String,
    /// Name of the tool.
    pub tool: String,
    /// Whether the result reports a failure.
    #[serde(skip_serializing_if = "crate::is_default", default)]
    pub failed: bool,
}
