//! THINK, NOTE and RECALL: builds the prompts and parses the model's output (paper, section 3.2).
//!
//! Text from people, models and APIs is sent as JSON inside one message and declared as data.

mod guide;
mod output;
mod questions;

pub use guide::{Demonstration, DemonstrationNote, TaskGuide};
pub use questions::PromptNote;

pub(super) use output::parse_output;
pub(super) use questions::{Feedback, continuation, feedback, reflecting, solving, training, wording};
