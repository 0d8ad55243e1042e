//! Lines about the plan that a turn followed.

use callwright_types::{ChosenBy, PlanChoice, PlanNote, Trace};

use super::turn::{call_text, execution_lines, repair_text};
use super::{TranscriptLabel, TranscriptLine};

/// Returns the plan, its calls with their outcomes, and its notes. A plan that equals that of the turn `before` is not
/// repeated.
pub(super) fn plan_lines(trace: &Trace, note: &PlanNote, before: Option<&Trace>) -> Vec<TranscriptLine> {
    let before = before.and_then(|trace| trace.plan.as_ref());
    let mut lines = vec![TranscriptLine::new(TranscriptLabel::Plan, heading(note, before))];
    let mut choices: Vec<&PlanChoice> = note.choices.iter().collect();
    for step in &note.steps {
        for call in &step.calls {
            let is_for = |choice: &&PlanChoice| tool_of(note, &choice.call) == Some(call.name.as_str());
            let (taken, others) = choices.into_iter().partition(is_for);
            choices = others;
            lines.extend(
                taken.into_iter().map(|choice| TranscriptLine::new(TranscriptLabel::Plan, choice_text(note, choice))),
            );
        }
        lines.extend(step.calls.iter().map(|call| TranscriptLine::new(TranscriptLabel::Plan, call_text(call))));
        for repair in &step.repairs {
            let (found, repaired) = repair_text(repair);
            lines.extend([
                TranscriptLine::new(TranscriptLabel::Found, found),
                TranscriptLine::new(TranscriptLabel::Repaired, repaired),
            ]);
        }
        let ran = trace.executions.iter().filter(|ran| step.calls.iter().any(|call| call.id == ran.call.id));
        lines.extend(ran.flat_map(execution_lines));
    }
    lines.extend(note.notes.iter().map(|fault| TranscriptLine::new(TranscriptLabel::Found, fault.clone())));
    lines
}

/// Returns the cost of drawing, in addition to the requests that the turn needs anyway.
pub(super) fn cost_text(note: &PlanNote) -> String {
    match note.cost.requests {
        0 => "no request for the plan".to_owned(),
        1 => format!("1 request for the plan ({} tokens)", note.cost.tokens()),
        count => format!("{count} requests for the plan ({} tokens)", note.cost.tokens()),
    }
}

fn heading(note: &PlanNote, before: Option<&PlanNote>) -> String {
    let Some(plan) = &note.plan else { return "none could be drawn".to_owned() };
    let shown = plan.to_string();
    match before {
        Some(before) if before.plan == note.plan => {
            format!("goes on: {} of {} calls are made", note.made.len(), plan.nodes().len())
        }
        Some(_) => format!("is drawn anew where something was missing or has changed\n{shown}"),
        None => format!("is drawn: {}\n{shown}", note.reason),
    }
}

fn choice_text(note: &PlanNote, choice: &PlanChoice) -> String {
    let tool = |label| tool_of(note, label).unwrap_or(label);
    let why = match choice.by {
        ChosenBy::Only => "there is no other",
        ChosenBy::Said => "the user named it",
        ChosenBy::Model => "the model chose it",
    };
    let (taken, items) = (choice.taken + 1, choice.items);
    format!("takes item {taken} of {items} of {}'s answer for {}: {why}", tool(&choice.from), tool(&choice.call))
}

/// Returns the tool of the call with this label.
fn tool_of<'a>(note: &'a PlanNote, label: &str) -> Option<&'a str> {
    Some(note.plan.as_ref()?.node(label)?.tool.as_str())
}
