//! `learn`: representations from files of samples, without a server.

mod job;
mod journal;
mod page;
mod procedures;
mod report;
mod run;
mod samples;
mod state;

pub use job::{LearnFiles, Prepared};
pub use page::page;
pub use procedures::{TraceLines, gather_procedures};
pub use report::Report;
pub use run::{LearnRun, learn};
pub use samples::Samples;
