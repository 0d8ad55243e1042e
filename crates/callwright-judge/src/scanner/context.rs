//! Optional inputs of a scan besides the call and the tools.

use super::budget::Budget;
use super::expectations::Expectations;
use super::relevance::Relevance;
use super::transcript::Conversation;
use callwright_types::Similarity;

/// Optional inputs of a scan besides the call and the tools. A check whose input is missing is skipped.
#[derive(Debug, Clone, Copy, Default)]
pub struct Context<'a> {
    /// Earlier messages and calls (E4.3, E5).
    pub conversation: Option<&'a dyn Conversation>,
    /// Relevance of each tool for the request (E2.1).
    pub relevance: Option<&'a Relevance>,
    /// Expected sources of argument values (E4.4).
    pub expectations: Option<&'a Expectations>,
    /// Semantic similarity of names (E2.3, E3.3). Queried only for unknown names without a close spelling.
    pub similarity: Option<&'a dyn Similarity>,
    /// Work budget of the scan; `None` for no limit.
    pub budget: Option<&'a Budget>,
}

impl Context<'_> {
    /// Consumes one step of the budget. Returns whether the scan may continue.
    pub(crate) fn step(&self) -> bool {
        self.budget.is_none_or(Budget::step)
    }

    /// Whether the budget is spent, in which case the result of the scan is not valid.
    pub(crate) fn is_spent(&self) -> bool {
        self.budget.is_some_and(Budget::is_spent)
    }
}
