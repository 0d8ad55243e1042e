//! Memory: lessons and procedures, the evidence that supports them, and their use in a turn.

mod client;
mod evidence;
mod lesson;
mod note;
mod procedure;
mod scope;

pub use client::{
    Change, ClientEvent, ClientFacts, ClientTool, Fingerprint, Identifier, Step, WorkedWith, is_identifier,
};
pub use evidence::{Backing, Evidence, EvidenceKind, ToolSample, UsageCounter};
#[doc(hidden)]
pub use lesson::sample as sample_lesson;
pub use lesson::{Author, Lesson, LessonDraft, Polarity, Retirement, Wording};
pub use note::{MemoryNote, Recalled, Returned};
pub use procedure::{Procedure, ProcedureDraft, ProcedureInput};
pub use scope::Scope;
