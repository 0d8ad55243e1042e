//! Repairs tool calls without loss of data and without a model.
//!
//! Owns the rescue of calls from text, renames, type coercions and repairs of malformed JSON. Must not report faults:
//! those that cannot be repaired remain for the scanner.

#[cfg(test)]
mod actions;
pub mod answers;
mod arguments;
mod coercion;
mod custom_input;
#[cfg(test)]
mod hostile_tests;
mod judge;
mod lenient;
mod member;
mod message;
mod no_answer;
mod passes;
#[cfg(test)]
mod properties;
mod proposal;
mod regroup;
pub mod rescue;
mod swallowed;
#[cfg(test)]
mod testing;
mod tool_name;
mod value;
mod wrapper;

pub use judge::{judge, repair_call};
pub use message::{JudgedCall, JudgedMessage, Spoken, Unjudged, is_call_of_function, judge_message};
pub use no_answer::TextAnswer;
pub use proposal::RepairedCall;
pub use rescue::residue::Residue;
