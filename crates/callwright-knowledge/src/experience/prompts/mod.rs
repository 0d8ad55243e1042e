//! THINK, NOTE and RECALL: builds the prompts and parses the model's output (paper, section 3.2).
//!
//! Text from people, models and APIs is sent as JSON inside one message and announced as data.

mod guide;
mod questions;
mod reading;

pub use guide::{Demonstration, DemonstrationNote, MAX_DEMONSTRATIONS, TaskGuide};
pub use questions::{Feedback, NOTE_FORM, Shown, continued, feedback, reflecting, solving, training, wording};
pub use reading::{Said, read};
