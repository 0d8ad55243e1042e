//! Counts of found explanations.

use super::docs::DocumentLibrary;
use callwright_types::Explanation;

/// Counts over a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExplainSummary {
    /// APIs in the folder.
    pub apis: u64,
    /// Indexed passages.
    pub indexed: u64,
    /// Processed failures.
    pub records: u64,
    /// Failures with at least one passage.
    pub explained: u64,
    /// Returned passages.
    pub passages: u64,
    /// Characters of the returned passages.
    pub characters: u64,
    /// Unusable lines.
    pub problems: u64,
}

impl ExplainSummary {
    pub(super) fn of(library: &DocumentLibrary) -> Self {
        Self { apis: library.apis().len() as u64, indexed: library.passages() as u64, ..Self::default() }
    }

    pub(super) fn count(&mut self, explanation: &Explanation) {
        self.records += 1;
        self.explained += u64::from(explanation.is_hit());
        self.passages += explanation.passages.len() as u64;
        self.characters += explanation.passages.iter().map(|passage| passage.text.chars().count() as u64).sum::<u64>();
    }
}
