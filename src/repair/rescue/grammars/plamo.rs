//! `<|plamo:begin_tool_request:plamo|>` with the name and the arguments between marks of their own, of PLaMo.

use crate::repair::rescue::grammar::Grammar;
use crate::repair::rescue::literal::Reader;
use crate::repair::rescue::written::Written;
use crate::repair::rescue::{body, element, python};
use crate::scanner::Toolbook;

pub(super) struct Plamo;

const REQUESTS: [&str; 2] = ["<|plamo:begin_tool_requests:plamo|>", "<|plamo:end_tool_requests:plamo|>"];
const REQUEST: [&str; 2] = ["<|plamo:begin_tool_request:plamo|>", "<|plamo:end_tool_request:plamo|>"];
const NAME: [&str; 2] = ["<|plamo:begin_tool_name:plamo|>", "<|plamo:end_tool_name:plamo|>"];
const ARGUMENTS: [&str; 2] = ["<|plamo:begin_tool_arguments:plamo|>", "<|plamo:end_tool_arguments:plamo|>"];

impl Grammar for Plamo {
    fn name(&self) -> &'static str {
        "plamo"
    }

    fn marks(&self) -> &'static [&'static str] {
        &[REQUESTS[0], REQUEST[0]]
    }

    fn read(&self, reader: &mut Reader<'_>, _: &Toolbook) -> Option<Vec<Written>> {
        reader.take(REQUESTS[0]);
        let mut calls = Vec::new();
        loop {
            let before = reader.at();
            reader.skip_space()?;
            if !reader.take(REQUEST[0]) {
                reader.go(before);
                break;
            }
            calls.push(call(reader)?);
        }
        element::skip_end_tags(reader, &[REQUESTS[1]]);
        (!calls.is_empty()).then_some(calls)
    }
}

fn call(reader: &mut Reader<'_>) -> Option<Written> {
    reader.skip_space()?;
    reader.take(NAME[0]).then_some(())?;
    let name = python::name(reader)?;
    reader.skip_space()?;
    reader.take(NAME[1]).then_some(())?;
    reader.skip_space()?;
    reader.take(ARGUMENTS[0]).then_some(())?;
    let arguments = body::arguments(reader, &[ARGUMENTS[1]])?;
    element::skip_end_tags(reader, &[ARGUMENTS[1], REQUEST[1]]);
    Written::with_arguments(name, &arguments)
}
