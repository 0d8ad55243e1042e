//! Judgement of turns: faulty calls of given tools, and removal of evidence after negative feedback.

use jiff::Timestamp;

use callwright_store::FeedbackRow;
use callwright_types::memory::Retirement;
use callwright_types::outcome::is_success_status;
use callwright_types::{Evidence, Trace};

/// Whether evidence contains a turn.
pub(super) fn rests_on(evidence: &[Evidence], trace: &str) -> bool {
    evidence.iter().any(|event| event.trace.as_deref() == Some(trace))
}

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

/// Whether calls of these tools (of any tool if the list is empty) were faulty or failed. `None` if there was no such
/// call: the turn is no evidence then.
pub(super) fn has_failed(trace: &Trace, tools: &[String]) -> Option<bool> {
    let mut called = false;
    for attempt in &trace.attempts {
        // A fault in an unreadable call or of an unknown tool may concern any tool.
        let is_faulty = attempt.diagnoses.iter().any(|diagnosis| {
            let call = attempt.calls.get(diagnosis.call);
            call.is_none_or(|call| {
                concerns(tools, &call.name) || diagnosis.suggestion.as_deref().is_some_and(|name| concerns(tools, name))
            })
        });
        if is_faulty {
            return Some(true);
        }
        called |= attempt.calls.iter().any(|call| concerns(tools, &call.name));
    }
    let failed = trace.executions.iter().filter(|execution| concerns(tools, &execution.call.name));
    let failed = failed.clone().any(|execution| execution.status.is_some_and(|status| !is_success_status(status)));
    (called || failed).then_some(failed)
}

/// Whether a list of tools contains a name. An empty list contains any name.
fn concerns(tools: &[String], name: &str) -> bool {
    tools.is_empty() || tools.iter().any(|tool| tool == name)
}
