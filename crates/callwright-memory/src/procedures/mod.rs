//! Procedural memory (AAG): abstraction and retrieval of past solutions, and the workflow that creates new ones from
//! them.
//!
//! Owns the content of procedures. Must not depend on turns, stores or callers.
//!
//! `abstraction` converts calls to a procedure in which every value is replaced by its origin. `merging` merges it with
//! existing ones. [`ProcedureStore`] finds procedures for a request. [`template()`] selects one that can be followed
//! unchanged; `preference` decides between several. `composition` combines two. [`import`] parses procedures from
//! documents. [`workflow`] lets a model create a new one from existing procedures.

mod abstraction;
mod composition;
pub mod import;
mod merging;
mod procedure_store;
mod settings;
mod template;
// Always compiled: a feature for it would build every crate twice for `cargo test`. The linker drops it.
#[doc(hidden)]
pub mod testing;
mod text;
pub mod workflow;

pub use abstraction::{CompletedCall, ProcedureTool, Workflow, draft_of_calls, names_only};
pub use merging::merge_draft;
pub use procedure_store::{ProcedureMatch, ProcedureQuery, ProcedureStore, StoredProcedure, ToolAvailability};
pub use settings::Settings;
pub use template::{AvailableParameters, template};
pub use text::{ProcedureText, embedded_text};

use abstraction::draft_of_plan;
use composition::{compose, supplied_input};
