//! Generates a plan backward from the request ("Reverse Chain", sections 3.1 and 3.2) with two small prompts.
//!
//! [`generate()`] requests the final tools of the request once. For each call it then requests the sources of *all* its
//! arguments in one prompt: a value of the conversation, another call's output, or the user. Answers are validated
//! against the offered options (`accept.rs`), the tool's schema and the conversation (`grounding.rs`). The model gets
//! one chance to repair a faulty answer.
//!
//! [`generate_from_template()`] completes a template with one request for its inputs, and generates a plan if the
//! template does not fit. [`regenerate()`] replaces the parts that an answer or the user has changed and keeps the
//! rest. [`choose()`] selects one item of a list, and [`need()`] determines whether a plan is needed at all.

mod accept;
mod answer;
mod choose;
mod complete;
mod converse;
mod draft;
mod error;
mod fitting;
mod generate;
mod grounding;
mod need;
mod prompt_data;
mod prompts;
mod regenerate;
mod settings;
mod template;

pub use super::tools::{PlanTool, ToolList, Tools};
pub use callwright_upstream::BudgetSpent;
pub use choose::{ChoiceInputs, ChoiceResult, choose};
pub use converse::PlanningCost;
pub use error::GenerationError;
pub use generate::{GenerationOutcome, PlanInputs, generate, generate_from_template};
pub use need::{PlanNeed, need};
pub use regenerate::{PresentPlan, Renewal, regenerate};
pub use settings::{Completion, GenerationSettings};
