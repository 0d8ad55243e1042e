//! Parses `<｜tool▁call▁begin｜>function<｜tool▁sep｜>name` with the arguments in a code fence (DeepSeek V3 and R1), or
//! without type and code fence (V3.1).

use crate::repair::rescue::literal::LiteralReader;
use crate::repair::rescue::written::WrittenCall;
use crate::repair::rescue::{body, element, python};
use crate::scanner::ToolSet;

/// Markers of one call: begin, separator and end, with the characters of the tokenizer and as plain ASCII.
const WRITINGS: [[&str; 5]; 3] = [
    [
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁call▁begin｜>",
        "<｜tool▁sep｜>",
        "<｜tool▁call▁end｜>",
        "<｜tool▁calls▁end｜>",
    ],
    ["<|tool▁calls▁begin|>", "<|tool▁call▁begin|>", "<|tool▁sep|>", "<|tool▁call▁end|>", "<|tool▁calls▁end|>"],
    [
        "<｜tool_calls_begin｜>",
        "<｜tool_call_begin｜>",
        "<｜tool_sep｜>",
        "<｜tool_call_end｜>",
        "<｜tool_calls_end｜>",
    ],
];

pub(crate) fn read(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    let rest = reader.rest();
    let writing = WRITINGS.iter().find(|[all, one, ..]| rest.starts_with(all) || rest.starts_with(one))?;
    let [begin_all, begin, separator, end, end_all] = *writing;
    reader.take(begin_all);
    let mut calls = Vec::new();
    loop {
        reader.skip_space()?;
        if reader.take(end_all) || reader.is_at_end() {
            break;
        }
        if !reader.take(begin) {
            break;
        }
        calls.extend(call(reader, tool_set, separator, end)?);
    }
    (!calls.is_empty()).then_some(calls)
}

fn call(reader: &mut LiteralReader<'_>, tool_set: &ToolSet, separator: &str, end: &str) -> Option<Vec<WrittenCall>> {
    let start = reader.at();
    if reader.take("function") && reader.take(separator) {
        reader.skip_space()?;
        if reader.rest().starts_with('<') {
            let calls = element::calls(reader, tool_set)?;
            reader.skip_space()?;
            reader.take(end);
            return Some(calls);
        }
    } else {
        reader.go(start);
    }
    let name = python::name(reader)?;
    reader.take(separator);
    let arguments = body::arguments(reader, &[end])?;
    reader.skip_space()?;
    reader.take(end);
    Some(vec![WrittenCall::with_arguments(name, &arguments)?])
}
