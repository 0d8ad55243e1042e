//! Text form of a trace's plan.

use std::fmt::Write as _;

use callwright_types::{ChosenBy, PlanNote};

/// Returns the lines about a plan and its result.
pub(super) fn lines(note: &PlanNote) -> String {
    let mut lines = format!("{}; {} calls answered", note.result.label(), note.made.len());
    let cost = note.cost;
    let _ = write!(lines, "; drawing it took {} requests and {} tokens", cost.requests, cost.tokens());
    if !note.reason.is_empty() {
        let _ = write!(lines, "\nwhy: {}", note.reason);
    }
    if let Some(plan) = &note.plan {
        let _ = write!(lines, "\n{}", plan.to_string().trim_end());
    }
    for choice in &note.choices {
        let by = match choice.by {
            ChosenBy::Only => "it was the only one",
            ChosenBy::Said => "the conversation names it",
            ChosenBy::Model => "the model chose it",
        };
        let (taken, items) = (choice.taken + 1, choice.items);
        let _ = write!(lines, "\n{} took item {taken} of {items} of {}: {by}", choice.call, choice.from);
    }
    for deviation in &note.deviations {
        let call = if deviation.call.is_empty() { String::new() } else { format!(": {}", deviation.call) };
        let _ = write!(lines, "\nthe client deviated ({}{call})", deviation.kind.label());
    }
    for note in &note.notes {
        let _ = write!(lines, "\nnote: {note}");
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_became_of_a_plan_is_told_in_lines() {
        let note: PlanNote = serde_json::from_value(json!({
            "result": "complete", "reason": "`id` of b is missing, and a supplies it", "made": ["call1"],
            "plan": {"nodes": [{"label": "call1", "tool": "a", "task": "", "arguments": []}], "finals": ["call1"]},
            "choices": [{"call": "call2", "from": "call1", "items": 3, "taken": 1, "by": "model"}],
            "deviations": [{"kind": "changed", "call": "call1"}, {"kind": "answered_itself"}],
            "notes": ["x"], "cost": {"requests": 2, "prompt_tokens": 10, "completion_tokens": 5},
        }))
        .unwrap();
        let text = lines(&note);
        for part in [
            "complete; 1 calls answered; drawing it took 2 requests and 15 tokens",
            "why: `id` of b is missing",
            "call1: a  (goal)",
            "call2 took item 2 of 3 of call1: the model chose it",
            "deviated (changed: call1)",
            "deviated (answered_itself)",
            "note: x",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }
}
