//! Language-model implementations of the learner's proposer and selector.
//!
//! All text written by people (requests, descriptions) is sent to the model as JSON in one message and is declared as
//! data.

mod accept;
mod answer;
mod client;
mod estimate;
mod prompts;
mod proposer;
mod selector;

pub use client::LearnerModel;
pub use client::ModelSettings;
pub use estimate::Estimate;
pub use prompts::Candidate;
pub use proposer::LlmProposer;
pub use selector::LlmSelector;

#[cfg(test)]
mod test_model;
