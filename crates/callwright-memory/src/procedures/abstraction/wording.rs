//! Describes a procedure in words from the tools' descriptions.

use std::fmt::Write as _;

use super::input::ProcedureTool;
use crate::procedures::Settings;
use callwright_common::text::{beginning, first_sentence, name_words};
use callwright_types::plan::{Item, Node, Reference, Source};

/// Maximum number of characters of a constant in a step.
const CONSTANT_CHARS: usize = 40;

/// Returns the result of these tools in words, from their descriptions, else their names.
pub(super) fn output_words<'t>(tools: impl Iterator<Item = &'t ProcedureTool<'t>>, settings: &Settings) -> String {
    let mut results: Vec<String> = Vec::new();
    for tool in tools {
        let sentence = first_sentence(tool.description).trim_end_matches('.');
        let text = if sentence.is_empty() { name_words(tool.name).join(" ") } else { sentence.to_owned() };
        let text = beginning(&text, settings.description_chars).to_owned();
        if !results.contains(&text) {
            results.push(text);
        }
    }
    results.join("; ")
}

/// Returns a call as one line: the tool and the origin of each argument. Labels are `stepN`.
pub(in crate::procedures) fn step_words(node: &Node) -> String {
    let (mut parts, mut given) = (Vec::new(), Vec::new());
    for argument in &node.arguments {
        let name = argument.name.as_str();
        match &argument.source {
            Source::Missing { .. } => given.push(name),
            Source::Value { value, .. } => {
                parts.push(format!("{name} is {}", beginning(&value.to_string(), CONSTANT_CHARS)));
            }
            Source::Output(reference) => {
                parts.push(format!("{name} {} {}", selection_words(reference), location_words(reference)))
            }
            Source::Composed { outputs, .. } => {
                let sources: Vec<String> = outputs.iter().map(location_words).collect();
                let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
                parts.push(format!("{name} made of {}", enumeration(&sources)));
            }
        }
    }
    if !given.is_empty() {
        parts.push(format!("{} given", enumeration(&given)));
    }
    let mut text = node.tool.clone();
    if !parts.is_empty() {
        let _ = write!(text, ": {}", parts.join("; "));
    }
    text
}

fn selection_words(reference: &Reference) -> &'static str {
    match reference.item {
        Item::Chosen => "chosen from",
        Item::Index(_) => "the first of",
        Item::Whole => "from",
    }
}

fn location_words(reference: &Reference) -> String {
    let number = reference.node.trim_start_matches("step");
    match reference.output.as_str() {
        "" => format!("step {number}'s answer"),
        pointer => format!("step {number}'s {pointer}"),
    }
}

/// Formats a list as `a, b and c`.
fn enumeration(names: &[&str]) -> String {
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}
