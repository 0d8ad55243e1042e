//! Procedural memory (AAG): past solutions, how they are abstracted and found, and the workflow that makes new ones of them.
//!
//! Owns what a procedure says. Must not know turns, stores or who asks.
//!
//! `abstraction` makes a procedure of calls that were made: each value becomes what it came from, and none stays.

mod abstraction;
mod settings;

pub use abstraction::{KnownTool, MadeCall, Workflow, draft_of_calls, draft_of_plan};
pub use settings::Settings;
