//! Lessons from labelled questions: the training stage, and the test stage with its variants (ExpNote, sections 3.1 and
//! 4.2).

mod inputs;
mod report;
mod run;

pub use report::{NotesReport, Variant, VariantReport};
pub use run::{NotesFiles, NotesRun, learn_notes};
