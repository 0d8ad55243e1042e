//! `<tool_call>` and the like: data, code or elements between a pair of tags. The chat templates of Hermes, Qwen, GLM, Granite
//! (`<function_call>`), Nemotron (`<TOOLCALL>`), Jamba and Olmo write calls so.

use crate::repair::rescue::grammar::Grammar;
use crate::repair::rescue::literal::{Literal, Reader};
use crate::repair::rescue::written::Written;
use crate::repair::rescue::{body, element, python};
use crate::scanner::Toolbook;

pub(super) struct ToolCall;

const MARKS: [&str; 10] = [
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
];

impl Grammar for ToolCall {
    fn name(&self) -> &'static str {
        "tool_call"
    }

    fn marks(&self) -> &'static [&'static str] {
        &MARKS
    }

    fn read(&self, reader: &mut Reader<'_>, toolbook: &Toolbook) -> Option<Vec<Written>> {
        let open = MARKS.into_iter().find(|mark| reader.take(mark))?;
        let close = open.replacen('<', "</", 1);
        let start = reader.at();
        if let Some(call) = keys_and_values(reader, &close) {
            return Some(vec![call]);
        }
        reader.go(start);
        // A mark that is never closed may be opened again for the next call.
        let calls = body::read(reader, toolbook, &[&close, "<|im_end|>"])?;
        Some(calls)
    }
}

/// `name <arg_key>a</arg_key> <arg_value>1</arg_value>`.
fn keys_and_values(reader: &mut Reader<'_>, close: &str) -> Option<Written> {
    reader.skip_space()?;
    let name = python::name(reader)?;
    let mut members: Vec<(String, Literal)> = Vec::new();
    loop {
        reader.skip_space()?;
        if reader.take("<arg_key>") {
            let key = element::text_up_to_end(reader, "arg_key")?;
            reader.skip_space()?;
            let value = reader.take("<arg_value>").then(|| element::text_up_to_end(reader, "arg_value")).flatten()?;
            members.push((key.text()?.trim().to_owned(), value));
        } else if reader.take(close) {
            return Some(Written::named(name, members));
        } else {
            return None;
        }
    }
}
