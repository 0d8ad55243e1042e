//! Reasons why there is no plan.

use callwright_prompt::NoAnswer;
use callwright_types::plan::PlanError;
use callwright_upstream::BudgetSpent;

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GenerationError {
    /// No tool is offered, or the model reports that none serves the request.
    #[error("no tool serves the request")]
    NoTool,
    /// The tools are being indexed.
    #[error("the argument sources are not indexed yet")]
    NotIndexed,
    /// The model's answers about the goals are unusable.
    #[error("the model's answers cannot be used: {0}")]
    Unusable(String),
    /// The model insists on words as the value of a key that a tool supplies.
    #[error("the plan gives the key `{argument}` of {tool} a value that is no key")]
    GuessedKey {
        /// Tool that takes the key.
        tool: String,
        argument: String,
    },
    /// The model does not answer.
    #[error("{0}")]
    Unanswered(String),
    /// A limit is reached.
    #[error("the plan exceeds a limit: {0}")]
    Limit(BudgetSpent),
}

impl From<NoAnswer> for GenerationError {
    fn from(reason: NoAnswer) -> Self {
        match reason {
            NoAnswer::Limit(limit) => Self::Limit(limit),
            NoAnswer::Failed(reason) => Self::Unanswered(format!("the request to the model failed: {reason}")),
            NoAnswer::Refused(reason) => Self::Unanswered(reason),
        }
    }
}

impl From<PlanError> for GenerationError {
    fn from(error: PlanError) -> Self {
        Self::Unusable(error.to_string())
    }
}
