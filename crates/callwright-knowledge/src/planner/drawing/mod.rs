//! Generates a plan backward from the request ("Reverse Chain", sections 3.1 and 3.2) with two small prompts.
//!
//! [`draw()`] requests the final tools of the request once. For each call it then requests the sources of *all* its
//! arguments in one prompt: a value of the conversation, another call's output, or the user. Answers are validated
//! against the offered options (`accept.rs`), the tool's schema and the conversation (`ground.rs`). The model gets one
//! chance to repair a faulty answer.
//!
//! [`draw_from()`] completes a known plan, a template, with one request for its inputs, and generates a plan where it
//! does not fit. [`redraw()`] regenerates the parts that an answer or the user has changed and keeps the rest.
//! [`choose()`] selects one item of a list, and [`need()`] determines whether a plan is needed at all.

mod accept;
mod answer;
mod choose;
mod complete;
mod converse;
mod draft;
mod draw;
mod error;
mod finish;
mod fitting;
mod ground;
mod model;
mod need;
mod number_words;
mod place;
mod prompts;
mod redraw;
mod renewed_goals;
mod settings;
mod shown;
mod template;
mod tools;

pub use choose::{Chance, Chosen, choose};
pub use converse::Spent;
pub use draw::{Drawn, Occasion, draw, draw_from};
pub use error::{Limit, Undrawn};
pub use model::{AskError, PlanningModel, Purpose, Question, Reply};
pub use need::{Need, need};
pub use redraw::{Present, Renewal, redraw};
pub use settings::{Completion, DrawSettings};
pub use tools::{PlanTool, ToolList, Tools};

/// Maximum number of characters of a name or a value that a fault quotes.
const QUOTED_CHARS: usize = 80;
