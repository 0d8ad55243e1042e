//! `learn`: representations from samples, and lessons from labelled questions, without a server. Owns the files,
//! reports of such runs. Must not learn by itself: the learners in `representation` and `callwright-memory` do.

mod job;
mod notes;
mod report;
mod run;
mod samples;
mod test;

pub use job::{LearnFiles, LearnInputs, StoredInputs};
pub use notes::{NotesFiles, NotesReport, NotesRun, Variant, VariantReport, learn_notes};
pub use report::{Report, TestReport, TestScores, ToolScores};
pub use run::{LearnRun, learn};
pub use samples::Samples;
