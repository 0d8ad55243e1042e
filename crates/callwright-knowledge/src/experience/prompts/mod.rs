//! THINK, NOTE and RECALL: builds the prompts and parses the model's output (paper, section 3.2).
//!
//! Text from people, models and APIs is sent as JSON inside one message and declared as data.

mod guide;
mod output;
mod questions;

pub use guide::{Demonstration, DemonstrationNote, MAX_DEMONSTRATIONS, TaskGuide};
pub use output::{OutputCommands, parse_output};
pub use questions::{Feedback, NOTE_FORM, PromptNote, continuation, feedback, reflecting, solving, training, wording};
