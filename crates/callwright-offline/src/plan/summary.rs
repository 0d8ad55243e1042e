//! Counts of found candidates.

use super::toolsets::RequestCandidates;
use crate::answers::LineSummary;

/// Counts over a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CandidatesSummary {
    /// Usable toolsets.
    pub toolsets: u64,
    /// Tools of the toolsets.
    pub tools: u64,
    /// Tools skipped because their toolset has another tool of the same name.
    pub repeated: u64,
    /// Answered records.
    pub records: u64,
    /// Records that need a plan, if that is computed.
    pub needed: u64,
    /// Arguments searched for.
    pub arguments: u64,
    /// Arguments without a candidate.
    pub empty: u64,
    /// Calls of records that name a tool outside the toolset; they are skipped.
    pub unknown_calls: u64,
    /// Lines of tools and records that are unusable as a whole or in part.
    pub problems: u64,
}

impl CandidatesSummary {
    pub(super) fn count(&mut self, found: &RequestCandidates) {
        self.records += 1;
        self.arguments += found.arguments.len() as u64;
        self.empty += found.arguments.iter().filter(|(_, _, candidates)| candidates.is_empty()).count() as u64;
        self.unknown_calls += found.unknown_calls;
    }
}

impl LineSummary for CandidatesSummary {
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
