//! Drawing a plan backward from what was asked for ("Reverse Chain", sections 3.1 and 3.2), by two small questions to a model.
//!
//! [`draw()`] asks once which tools end in what the request wants, and then once for each call where *all* of its arguments come from: a value
//! of the conversation, another call's output, or the user. What a model answers is held against what it was offered (`accept.rs`),
//! against the tool's schema, and against what was said (`ground.rs`); what is wrong it is told once.

mod accept;
mod answer;
mod converse;
mod draft;
mod draw;
mod ground;
mod model;
mod prompts;
mod settings;
mod tools;
mod upstream_model;

pub use converse::Spent;
pub use draw::{Drawn, Limit, Occasion, Undrawn, draw};
pub use model::{AskError, PlanningModel, Purpose, Question, Reply};
pub use settings::DrawSettings;
pub use tools::{PlanTool, ToolList, Tools};
