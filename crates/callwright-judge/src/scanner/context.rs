//! What a scan is told beside the call and the tools.

use super::budget::Budget;
use super::expectations::Expectations;
use super::relevance::Relevance;
use super::transcript::Conversation;
use callwright_types::Similarity;

/// What a scan is told beside the call and the tools. All of it may be missing: what needs it is not judged then.
#[derive(Debug, Clone, Copy, Default)]
pub struct Context<'a> {
    /// What was said and called before (E4.3, E5).
    pub conversation: Option<&'a dyn Conversation>,
    /// How well each tool serves the request (E2.1).
    pub relevance: Option<&'a Relevance>,
    /// Where values have to come from (E4.4).
    pub expectations: Option<&'a Expectations>,
    /// Similarity of names in meaning (E2.3, E3.3). Requested for unknown names alone whose spelling suggests nothing.
    pub similarity: Option<&'a dyn Similarity>,
    /// The work that the judgement may take; without one it has no limit.
    pub budget: Option<&'a Budget>,
}

impl Context<'_> {
    /// Takes one step of the judgement; whether it may go on.
    pub(crate) fn step(&self) -> bool {
        self.budget.is_none_or(Budget::step)
    }

    /// Whether the judgement was stopped: its result means nothing.
    pub(crate) fn is_spent(&self) -> bool {
        self.budget.is_some_and(Budget::is_spent)
    }
}
