//! Parses `>>>name` with the arguments on the next line, of functionary 3.

use crate::repair::rescue::call_names::offered;
use crate::repair::rescue::literal::LiteralReader;
use crate::repair::rescue::written::WrittenCall;
use crate::repair::rescue::{body, element, python};
use crate::scanner::ToolSet;

const STOP: &str = "<|stop|>";
const SIGN: &str = ">>>";

pub(in crate::repair::rescue) fn read(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    let mut calls = Vec::new();
    loop {
        let before = reader.at();
        reader.skip_space()?;
        let Some(call) = call(reader, tool_set) else {
            reader.go(before);
            return (!calls.is_empty()).then_some(calls);
        };
        calls.push(call);
    }
}

fn call(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<WrittenCall> {
    reader.take(SIGN).then_some(())?;
    let name = python::name(reader)?;
    // The name must end its line, because code follows the prompt of a Python interpreter.
    let ends_line = reader.rest().trim_start_matches([' ', '\r']).starts_with('\n');
    ends_line.then(|| offered(&name, tool_set))??;
    reader.skip_space()?;
    let arguments = reader.peek().filter(|next| *next == '{').and_then(|_| body::arguments(reader, &[]))?;
    element::skip_end_tags(reader, &[STOP]);
    WrittenCall::with_arguments(name, &arguments)
}
