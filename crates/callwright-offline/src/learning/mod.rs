//! Jobs beside the turns that make lessons and procedures of what was verified.
//!
//! Owns what verifies, when something is learned, and when it is retired. Must not know turns: it reads their traces.
//!
//! [`Known`] is what the store has, kept current; a [`Worker`] does a [`Job`], each of which one replica at a time works at: the [`Learner`], for
//! which `batch` decides, without I/O, what a batch of traces and verdicts teaches (`workflows` of procedures), and the [`Wordsmith`], which has a model
//! word lessons. [`Gathering`] learns procedures of records as the learner does, all at once.

mod batch;
mod gathering;
mod job;
mod known;
mod learner;
mod progress;
mod sampling;
mod settings;
mod verdicts;
mod wordsmith;
mod workflows;

pub use gathering::{Gathered, Gathering, Word};
pub use job::{Job, JobError, Ran, Worker};
pub use known::{Keeper, Known};
pub use learner::Learner;
pub use settings::Settings;
pub use wordsmith::Wordsmith;
