//! Parses elements: calls, and those that begin with the tool's name.

use crate::repair::rescue::literal::LiteralReader;
use crate::repair::rescue::tag::{self, TagKind};
use crate::repair::rescue::written::WrittenCall;
use crate::repair::rescue::{element, extent};
use callwright_scanner::ToolSet;

/// Parses `<invoke name="f"><parameter name="a">1</parameter></invoke>`, the elements of Claude, DeepSeek 3.2 and MiniMax
/// with any wrapper, and `<use_mcp_tool>` of coding agents. Also parses `<function=name>{...}</function>` of Llama and
/// functionary, and its variant with `<parameter=a>` elements of Qwen Coder.
pub(crate) fn calls(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    let calls = element::calls(reader, tool_set)?;
    element::closed(reader, calls)
}

/// Parses `<tool_name>get_weather</tool_name>` followed by the arguments.
pub(crate) fn behind_name(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    let mut calls = vec![element::behind_name(reader, tool_set)?];
    loop {
        element::skip_closes(reader);
        let before = reader.at();
        reader.skip_space()?;
        let is_name = tag::start(reader.rest()).is_some_and(|tag| tag.kind == Some(TagKind::Name));
        match element::behind_name(reader, tool_set) {
            Some(call) => calls.push(call),
            // Either all calls are parsed, or none.
            None if is_name => return None,
            None => {
                reader.go(before);
                return (!extent::leaves_end_tags(reader)).then_some(calls);
            }
        }
    }
}
