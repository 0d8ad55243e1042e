//! `<tool_call>` and the like: data, code or elements between a pair of tags. The chat templates of Hermes, Qwen, GLM, Granite
//! (`<function_call>`), Nemotron (`<TOOLCALL>`), Jamba and Olmo write calls so.

use crate::repair::rescue::grammar::Grammar;
use crate::repair::rescue::literal::{Literal, Reader};
use crate::repair::rescue::written::Written;
use crate::repair::rescue::{body, element, python};
use crate::scanner::Toolbook;

pub(super) struct ToolCall;

const MARKS: [&str; 17] = [
    "<tool_call>",
    "<tool_calls>",
    "<function_call>",
    "<function_calls>",
    "<functioncall>",
    "<toolcall>",
    "<TOOLCALL>",
    "<tool_use>",
    "<seed:tool_call>",
    "<minimax:tool_call>",
    "<longcat_tool_call>",
    "<antml:function_calls>",
    "<atem:function_calls>",
    "<｜DSML｜function_calls>",
    "<｜DSML｜tool_calls>",
    "<｜GCML｜tool_calls>",
    "<|tool_calls>",
];

/// What may stand behind calls and belongs to them: end tags, whose start tags may be missing, and the marks that end a turn.
pub(super) const CLOSES: [&str; 18] = [
    "</tool_call>",
    "</tool_calls>",
    "</function_call>",
    "</function_calls>",
    "</seed:tool_call>",
    "</minimax:tool_call>",
    "</antml:function_calls>",
    "</atem:function_calls>",
    "</｜DSML｜function_calls>",
    "</｜DSML｜tool_calls>",
    "</｜GCML｜tool_calls>",
    "</longcat_tool_call>",
    "<|im_end|>",
    "<|eom_id|>",
    "<|eot_id|>",
    "<|endoftext|>",
    "<|end|>",
    "</s>",
];

/// Pairs of tags within pairs of tags: `<tool_calls><tool_call>`.
const MAX_DEPTH: usize = 3;

/// What the template of LongCat puts before the names of its elements.
const PREFIXES: [&str; 2] = ["", "longcat_"];

impl Grammar for ToolCall {
    fn name(&self) -> &'static str {
        "tool_call"
    }

    fn marks(&self) -> &'static [&'static str] {
        &MARKS
    }

    fn read(&self, reader: &mut Reader<'_>, toolbook: &Toolbook) -> Option<Vec<Written>> {
        let calls = between(reader, toolbook, MAX_DEPTH)?;
        element::skip_end_tags(reader, &CLOSES);
        Some(calls)
    }
}

fn between(reader: &mut Reader<'_>, toolbook: &Toolbook, depth: usize) -> Option<Vec<Written>> {
    let depth = depth.checked_sub(1)?;
    let mark = reader.at();
    let open = MARKS.into_iter().find(|mark| reader.take(mark))?;
    let close = open.replacen('<', "</", 1);
    let start = reader.at();
    if let Some(calls) = pairs(reader, toolbook, &close, depth) {
        return Some(calls);
    }
    reader.go(start);
    if let Some(call) = keys_and_values(reader, &close) {
        return Some(vec![call]);
    }
    reader.go(start);
    // A mark that is never closed may be opened again for the next call.
    if let Some(calls) = body::read(reader, toolbook, &[&close, "<|im_end|>"]) {
        return Some(calls);
    }
    reader.go(mark);
    element::calls(reader)
}

/// Further pairs of tags within this one.
fn pairs(reader: &mut Reader<'_>, toolbook: &Toolbook, close: &str, depth: usize) -> Option<Vec<Written>> {
    let mut calls = Vec::new();
    loop {
        let before = reader.at();
        reader.skip_space()?;
        if !calls.is_empty() && reader.take(close) {
            return Some(calls);
        }
        let more = MARKS.iter().any(|mark| reader.rest().starts_with(mark));
        match more.then(|| between(reader, toolbook, depth)).flatten() {
            Some(more) => calls.extend(more),
            None => {
                reader.go(before);
                return (!calls.is_empty()).then_some(calls);
            }
        }
    }
}

/// `name <arg_key>a</arg_key> <arg_value>1</arg_value>`.
fn keys_and_values(reader: &mut Reader<'_>, close: &str) -> Option<Written> {
    reader.skip_space()?;
    let name = python::name(reader)?;
    reader.skip_space()?;
    reader.take("<tool_sep>");
    let mut members: Vec<(String, Literal)> = Vec::new();
    loop {
        reader.skip_space()?;
        if let Some(prefix) = PREFIXES.into_iter().find(|prefix| reader.take(&format!("<{prefix}arg_key>"))) {
            let key = element::text_up_to_end(reader, &format!("{prefix}arg_key"))?;
            reader.skip_space()?;
            let element = format!("{prefix}arg_value");
            let value = reader.take(&format!("<{element}>")).then(|| element::text_up_to_end(reader, &element))??;
            members.push((key.text()?.trim().to_owned(), value));
        } else if reader.take(close) || reader.rest().is_empty() && !members.is_empty() && reader.completes() {
            return Some(Written::named(name, members));
        } else {
            return None;
        }
    }
}
