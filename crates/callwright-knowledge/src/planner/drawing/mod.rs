//! Drawing a plan backward from what was asked for ("Reverse Chain", sections 3.1 and 3.2), by two small questions to a model.
//!
//! [`draw()`] asks once which tools end in what the request wants, and then once for each call where *all* of its arguments come from: a value
//! of the conversation, another call's output, or the user. What a model answers is held against what it was offered (`accept.rs`),
//! against the tool's schema, and against what was said (`ground.rs`); what is wrong it is told once.
//!
//! [`draw_from()`] fills in a plan that is known, a template, by one question for its inputs, and draws anew where it does not fit.
//! [`redraw()`] draws again what an answer or the user has changed, and leaves the rest as it was. [`choose()`] asks which item of a list is meant.

mod accept;
mod answer;
mod choose;
mod complete;
mod converse;
mod draft;
mod draw;
mod finish;
mod fitting;
mod ground;
mod model;
mod number_words;
mod place;
mod prompts;
mod redraw;
mod renewed_goals;
mod settings;
mod shown;
mod template;
mod tools;
mod upstream_model;

pub use choose::{Chance, Chosen, choose};
pub use converse::Spent;
pub use draw::{Drawn, Limit, Occasion, Undrawn, draw, draw_from};
pub use model::{AskError, PlanningModel, Purpose, Question, Reply};
pub use redraw::{Present, Renewal, redraw};
pub use settings::{Completion, DrawSettings};
pub use tools::{PlanTool, ToolList, Tools};

/// Characters of a name or a value that a fault quotes.
const QUOTED_CHARS: usize = 80;
