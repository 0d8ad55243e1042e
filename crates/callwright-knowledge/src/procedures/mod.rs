//! Procedural memory (AAG): past solutions, how they are abstracted and found, and the workflow that makes new ones of them.
//!
//! Owns what a procedure says. Must not know turns, stores or who asks.
//!
//! `abstraction` makes a procedure of calls that were made: each value becomes what it came from, and none stays. `merging` joins it with what
//! is known. [`Library`] finds procedures for a request, [`template()`] the one that can be followed as it is (`preference` decides between several), and [`compose`] makes one of two.
//! [`workflow`] has a model make a new one of those that are known.

mod abstraction;
mod composition;
mod library;
mod merging;
mod preference;
mod settings;
mod template;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod text;
pub mod workflow;

pub use abstraction::{KnownTool, MadeCall, Workflow, draft_of_calls, draft_of_plan, names_only};
pub use composition::{Feed, compose, feed};
pub use library::{Change, Found, InPlay, Library, Query, Shelved};
pub use merging::{Joined, join, likeness};
pub use settings::Settings;
pub use template::{ToolInPlay, template};
pub use text::{Wording, embedded_text};
