//! How often something was found.

use crate::answers::Summary;
use callwright_search::retrieval::Found;

/// Counts over a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetrieveSummary {
    /// Tools that were ranked.
    pub tools: u64,
    /// Those of them of which something was learned.
    pub learned: u64,
    /// Queries that were answered.
    pub records: u64,
    /// Queries for which no tool was found.
    pub empty: u64,
    /// Lines that could not be used, of tools and of queries.
    pub problems: u64,
}

impl RetrieveSummary {
    pub(super) fn count(&mut self, found: &[Found]) {
        self.records += 1;
        self.empty += u64::from(found.is_empty());
    }
}

impl Summary for RetrieveSummary {
    fn add(&mut self, other: &Self) {
        self.records += other.records;
        self.empty += other.empty;
        self.problems += other.problems;
    }

    fn records(&self) -> u64 {
        self.records
    }

    fn problems(&mut self) -> &mut u64 {
        &mut self.problems
    }
}
