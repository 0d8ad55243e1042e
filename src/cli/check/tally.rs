//! Counters over reports.

use std::ops::AddAssign;

use clap::ValueEnum;

use callwright_openapi::Report;

/// Totals over reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ReportTally {
    pub(super) documents: usize,
    /// Documents that could not be loaded.
    pub(super) failed: usize,
    /// Operations that became tools.
    pub(super) loaded: usize,
    pub(super) skipped: usize,
    pub(super) renamed: usize,
    pub(super) simplified: usize,
    pub(super) advice: usize,
    /// Parameters that models are not offered, each counted for its operations.
    pub(super) hidden: usize,
}

/// Findings that can make a run fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum DeniedFinding {
    /// An operation that did not become a tool.
    Skipped,
    /// A tool whose name differs from its `operationId`.
    Renamed,
    /// A construct that was translated with a loss or a guess.
    Simplified,
    /// Advice of the selected rules.
    Advice,
}

impl ReportTally {
    pub(super) fn of(report: &Report) -> Self {
        Self {
            documents: 1,
            failed: usize::from(report.error.is_some()),
            loaded: report.operations_loaded,
            skipped: report.operations_skipped.len(),
            renamed: report.renamed.len(),
            simplified: report.simplified.len(),
            advice: report.advice.len(),
            hidden: report.hidden.iter().map(|hidden| hidden.operations.len()).sum(),
        }
    }

    /// Returns the number of findings of this kind in words, or `None` if there are none.
    pub(super) fn of_denied(&self, what: DeniedFinding) -> Option<String> {
        let (count, one, several) = match what {
            DeniedFinding::Skipped => (self.skipped, "operation skipped", "operations skipped"),
            DeniedFinding::Renamed => (self.renamed, "tool renamed", "tools renamed"),
            DeniedFinding::Simplified => (self.simplified, "thing simplified", "things simplified"),
            DeniedFinding::Advice => (self.advice, "piece of advice", "pieces of advice"),
        };
        (count > 0).then(|| counted(count, one, several))
    }
}

/// `1 document`, `2 documents`.
pub(super) fn counted(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

impl AddAssign for ReportTally {
    fn add_assign(&mut self, other: Self) {
        self.documents += other.documents;
        self.failed += other.failed;
        self.loaded += other.loaded;
        self.skipped += other.skipped;
        self.renamed += other.renamed;
        self.simplified += other.simplified;
        self.advice += other.advice;
        self.hidden += other.hidden;
    }
}
