//! `learn`: representations from files of samples, and lessons from labelled questions, without a server.

mod job;
mod journal;
mod notes;
mod page;
mod procedures;
mod report;
mod run;
mod samples;
mod state;

pub use job::{LearnFiles, Prepared, Stored};
pub use notes::{NotesFiles, NotesReport, NotesRun, NotesWatcher, Variant, VariantReport, learn_notes};
pub use page::page;
pub use procedures::{TraceLines, gather_procedures};
pub use report::Report;
pub use run::{LearnRun, learn};
pub use samples::Samples;
