//! Counts of found candidates.

use super::toolsets::RequestCandidates;

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

/// Result of a record.
#[derive(Debug)]
pub(super) enum RecordResult {
    /// Whether the record needs a plan.
    Needed(bool),
    /// Candidates of its arguments.
    Candidates(RequestCandidates),
}

impl CandidatesSummary {
    pub(super) fn count(&mut self, result: &RecordResult) {
        self.records += 1;
        match result {
            RecordResult::Needed(is_needed) => self.needed += u64::from(*is_needed),
            RecordResult::Candidates(found) => {
                self.arguments += found.arguments.len() as u64;
                self.empty += found.arguments.iter().filter(|(_, _, candidates)| candidates.is_empty()).count() as u64;
                self.unknown_calls += found.unknown_calls;
            }
        }
    }
}
