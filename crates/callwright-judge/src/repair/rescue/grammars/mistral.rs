//! Parses `[TOOL_CALLS] [{...}]`, `[TOOL_CALLS]name[ARGS]{...}` of Mistral's later tokenizers, and `[TOOL_REQUEST]` of
//! LM Studio.

use crate::repair::rescue::literal::LiteralReader;
use crate::repair::rescue::written::WrittenCall;
use crate::repair::rescue::{body, element, python};
use crate::scanner::ToolSet;

const MARK: &str = "[TOOL_CALLS]";
const REQUEST: [&str; 2] = ["[TOOL_REQUEST]", "[END_TOOL_REQUEST]"];
const END: &str = "</s>";

/// Markers between the name and the arguments: of an id, and of the arguments.
const INNER: [&str; 2] = ["[CALL_ID]", "[ARGS]"];

pub(in crate::repair::rescue) fn read(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    if reader.take(REQUEST[0]) {
        return body::read(reader, tool_set, &[REQUEST[1]]);
    }
    reader.take(MARK).then_some(())?;
    let start = reader.at();
    match with_inner_marks(reader) {
        Some(call) => Some(body::with_further(reader, tool_set, call)),
        None => {
            reader.go(start);
            body::read(reader, tool_set, &[END])
        }
    }
}

fn with_inner_marks(reader: &mut LiteralReader<'_>) -> Option<WrittenCall> {
    reader.skip_space()?;
    let name = python::name(reader)?;
    let [id, arguments] = INNER;
    if reader.take(id) {
        let length = reader.find(arguments)?;
        reader.advance(length)?;
    }
    reader.take(arguments).then_some(())?;
    let arguments = body::arguments(reader, &[MARK, END])?;
    element::skip_end_tags(reader, &[END]);
    WrittenCall::with_arguments(name, &arguments)
}
