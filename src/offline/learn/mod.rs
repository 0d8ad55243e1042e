//! `learn`: representations from files of samples, without a server.

mod job;
mod page;
mod report;
mod samples;

pub use job::{LearnFiles, Prepared};
pub use page::page;
pub use report::Report;
pub use samples::{LabelledQuery, Samples};
