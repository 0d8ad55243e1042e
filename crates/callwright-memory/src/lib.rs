//! Memory of the proxy: lessons from corrected mistakes and verified successes, procedures of past solutions, and
//! learned tool descriptions.
//!
//! `learning` is the learner that runs beside the proxy and drafts lessons and procedures from recorded turns.

pub mod experience;
pub mod learning;
mod memory;
pub mod procedures;
pub mod representation;

pub use memory::{LearnOutcome, MemoryChange};
