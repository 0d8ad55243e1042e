//! Parses `Action: name` with `Action Input: {...}` (ReAct), `Action:` with a list of JSON calls (Command R), and
//! `✿FUNCTION✿` with `✿ARGS✿` (Qwen-Agent).

use crate::repair::rescue::literal::LiteralReader;
use crate::repair::rescue::written::WrittenCall;
use crate::repair::rescue::{body, python};
use callwright_scanner::ToolSet;

const INPUTS: [&str; 9] = [
    "Action Input:", "Action input:", "**Action Input:**", "**Action Input**:", "Action Input :", "✿ARGS✿:", "✿ARGS✿",
    "Arguments:", "Input:",
];

/// Labels that may follow the arguments.
const ENDS: [&str; 5] = ["Observation:", "Thought:", "✿RESULT✿", "✿RETURN✿", "✿"];

/// Action that reports the end of an agent's work, in letters only.
const DONE: &str = "finalanswer";

pub(crate) fn read(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    reader.skip_space()?;
    let calls = match reader.peek()? {
        '[' | '{' => body::item(reader, tool_set)?,
        '`' if reader.rest().starts_with("```") => body::item(reader, tool_set)?,
        _ => named(reader, tool_set)?,
    };
    let is_done = calls.iter().any(|call| call.name.to_lowercase().replace([' ', '_'], "") == DONE);
    (!is_done).then_some(calls)
}

/// Parses `name` with its input on a separate line, or a call as code.
fn named(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    let start = reader.at();
    let name = python::name(reader)?;
    if reader.rest().starts_with('(') {
        reader.go(start);
        return python::sequence(reader, tool_set);
    }
    reader.skip_space()?;
    INPUTS.into_iter().find(|mark| reader.take(mark))?;
    reader.skip_blanks()?;
    if reader.rest().trim_start().starts_with(['{', '[', '`']) {
        let arguments = body::arguments(reader, &[])?;
        return Some(vec![WrittenCall::with_arguments(name, &arguments)?]);
    }
    let rest = reader.rest();
    let line = rest.find('\n').map_or(rest, |end| rest.get(..end).unwrap_or_default());
    let end = ENDS.iter().filter_map(|end| line.find(end)).min().unwrap_or(line.len());
    // The line may be truncated at the end of the text.
    if end == rest.len() && !reader.may_complete {
        return None;
    }
    let input = rest.get(..end)?;
    reader.advance(end)?;
    Some(vec![WrittenCall::with_input(name, input.trim())?])
}
