//! What a language model does for the learner: it proposes patterns, and may choose among tools.
//!
//! Everything that people wrote (requests, descriptions) goes to the model as JSON inside of one message, and is announced as data.

mod accept;
mod answer;
mod ask;
mod copied;
mod estimate;
mod prompts;
mod proposer;
mod selector;
mod settings;

pub use ask::Model;
pub use estimate::{Estimate, Prices};
pub use proposer::LlmProposer;
pub use selector::LlmSelector;
pub use settings::ModelSettings;

#[cfg(test)]
mod test_model;
