//! Jobs beside the turns that make lessons and procedures of what was verified.
//!
//! Owns what verifies, when something is learned, and when it is retired. Must not know turns: it reads their traces.
//!
//! [`Known`] is what the store has, kept current; `job` is the loop, of which one replica at a time runs one; `batch` decides, without I/O,
//! what a batch of traces and verdicts teaches.

mod batch;
mod job;
mod known;
mod progress;
mod sampling;
mod settings;

pub use job::{Learner, Ran};
pub use known::{Keeper, Known};
pub use settings::Settings;
