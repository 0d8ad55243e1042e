//! THINK, NOTE and RECALL: how a model is asked to work with the notebook, and how its answers are read (paper, section 3.2).
//!
//! What people, models and APIs wrote goes to the model as JSON inside of one message, and is announced as data.

mod demonstrations;
mod questions;
mod reading;

pub use questions::{Feedback, Shown, continued, feedback, solving, training, wording};
pub use reading::{Said, read};
