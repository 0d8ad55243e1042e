//! What a verdict takes away.

use jiff::Timestamp;

use callwright_store::FeedbackRow;
use callwright_types::Evidence;
use callwright_types::memory::Retirement;

/// Takes a turn out of what something rests on. Where nothing is left, the turn stays there, and the reason to retire it is told.
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
    Some(Retirement { at: now, reason: format!("the turn that it rests on, {trace}, was wrong, says {who}") })
}
