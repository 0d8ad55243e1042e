//! Scores of a request for the tools of all toolsets.

use super::request::ClauseValues;
use super::segment_scores::SegmentScores;

/// Scores of a request, computed once for all arguments.
#[derive(Debug, Clone, Default)]
pub struct RequestScores {
    pub(super) segments: Vec<SegmentScores>,
    /// Positions of the tools with the highest scores, best first.
    pub(super) best: Vec<usize>,
    /// Positions of the tools declared as used, in ascending order.
    pub(super) used: Vec<usize>,
    /// Positions of the tools whose calls are requested, in ascending order.
    pub(super) requested: Vec<usize>,
    /// Values in each clause.
    pub(super) values: Vec<ClauseValues>,
}

impl RequestScores {
    /// Declares the tools that are used; they are ranked first.
    #[must_use]
    pub fn using(self, tools: impl IntoIterator<Item = usize>) -> Self {
        Self { used: sorted(tools), ..self }
    }

    /// Declares the tools whose calls are requested, so that they may supply values even if they change something.
    #[must_use]
    pub fn requesting(self, tools: impl IntoIterator<Item = usize>) -> Self {
        Self { requested: sorted(tools), ..self }
    }
}

/// Returns the distinct positions in ascending order.
pub(super) fn sorted(tools: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let mut tools: Vec<usize> = tools.into_iter().collect();
    tools.sort_unstable();
    tools.dedup();
    tools
}
