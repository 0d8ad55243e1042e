//! Removal of evidence after negative feedback.

use jiff::Timestamp;

use callwright_store::FeedbackRow;
use callwright_types::Evidence;
use callwright_types::memory::Retirement;

/// Removes a turn from the evidence. If no other evidence remains, it is kept unchanged, and the reason for retirement
/// is returned.
pub(super) fn without(
    evidence: &mut Vec<Evidence>,
    trace: &str,
    row: &FeedbackRow,
    now: Timestamp,
) -> Option<Retirement> {
    let left: Vec<Evidence> = evidence.iter().filter(|event| event.trace.as_deref() != Some(trace)).cloned().collect();
    if !left.is_empty() {
        *evidence = left;
        return None;
    }
    let who = if row.source == FeedbackRow::OPERATOR { "an operator" } else { "the application" };
    Some(Retirement { at: now, reason: format!("{who} judged its only evidence, the turn {trace}, as wrong") })
}
