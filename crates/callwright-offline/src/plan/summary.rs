//! How often something was found.

use super::toolsets::FoundCandidates;
use crate::answers::Summary;

/// Counts over a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CandidatesSummary {
    /// Toolsets that could be used.
    pub toolsets: u64,
    /// Their tools.
    pub tools: u64,
    /// Tools whose name their toolset has already; they are left out.
    pub repeated: u64,
    /// Records that were answered.
    pub records: u64,
    /// Records that need a plan, where that is asked.
    pub needed: u64,
    /// Arguments that were looked at.
    pub arguments: u64,
    /// Those of them without any candidate.
    pub empty: u64,
    /// Calls of records that name a tool that the toolset has not; they are left out.
    pub unknown_calls: u64,
    /// Lines that could not be used, or not wholly, of tools and of records.
    pub problems: u64,
}

impl CandidatesSummary {
    pub(super) fn count(&mut self, found: &FoundCandidates) {
        self.records += 1;
        self.arguments += found.arguments.len() as u64;
        self.empty += found.arguments.iter().filter(|(_, _, candidates)| candidates.is_empty()).count() as u64;
        self.unknown_calls += found.unknown_calls;
    }
}

impl Summary for CandidatesSummary {
    fn add(&mut self, other: &Self) {
        self.records += other.records;
        self.needed += other.needed;
        self.arguments += other.arguments;
        self.empty += other.empty;
        self.unknown_calls += other.unknown_calls;
        self.problems += other.problems;
    }

    fn records(&self) -> u64 {
        self.records
    }

    fn problems(&mut self) -> &mut u64 {
        &mut self.problems
    }
}
