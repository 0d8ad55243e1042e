//! What a trace tells of memory.

use serde::{Deserialize, Serialize};

use super::{LessonDraft, ProcedureDraft, Scope};

/// What a turn has to do with memory: what it was shown, and what may be learned from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryNote {
    /// Whose memory the turn uses and teaches.
    pub scope: Scope,
    /// The lessons that were shown, best first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub lessons: Vec<Recalled>,
    /// The procedures that were found, to be shown or followed as a plan's template.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub procedures: Vec<Recalled>,
    /// What may become lessons.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub drafts: Vec<LessonDraft>,
    /// What may become a procedure.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub workflow: Option<ProcedureDraft>,
    /// The calls that the client made since the user spoke last, and came back with.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub returned: Vec<Returned>,
}

impl MemoryNote {
    /// A turn that was shown nothing, and of which nothing can be learned yet.
    pub fn of(scope: Scope) -> Self {
        let (lessons, procedures, drafts, workflow, returned) = Default::default();
        Self { scope, lessons, procedures, drafts, workflow, returned }
    }

    /// Is there anything to learn from, or to count?
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
    /// Its id.
    pub id: String,
    /// Was it decided in an earlier turn, at the same message of the user? It is counted there.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub again: bool,
    /// Was it withheld, to see whether the turn goes well without it?
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub withheld: bool,
    /// How likely it was to be shown: its chance in the draw that decided, from 0 to 1.
    pub chance: f64,
}

/// A call of the client's that it made and came back with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Returned {
    /// The call's id.
    pub call: String,
    /// The tool's name.
    pub tool: String,
    /// Does the answer report a failure?
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub failed: bool,
}

/// What verifies a draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backing {
    /// The proxy saw it work in the same turn.
    Seen,
    /// Calls of these ids are with the client: they have to come back without a failure.
    Awaits(Vec<String>),
    /// Only somebody's verdict on the turn.
    Verdict,
}
