//! Parses elements: calls, and elements without an enclosing one (named after the tool, beginning with the tool's name or
//! a JSON head, or arguments alone).

use crate::repair::rescue::literal::LiteralReader;
use crate::repair::rescue::tag::{self, TagKind};
use crate::repair::rescue::written::WrittenCall;
use crate::repair::rescue::{body, element, extent};
use crate::scanner::ToolSet;

/// Parses `<invoke name="f"><parameter name="a">1</parameter></invoke>`, the elements of Claude, DeepSeek 3.2 and MiniMax
/// with any wrapper, and `<use_mcp_tool>` of coding agents. Also parses `<function=name>{...}</function>` of Llama and
/// functionary, and its variant with `<parameter=a>` elements of Qwen Coder.
pub(crate) fn calls(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    let calls = element::calls(reader, tool_set)?;
    element::closed(reader, calls)
}

/// Parses `<get_weather><city>Oslo</city></get_weather>`.
pub(crate) fn named_after_tool(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    let call = element::named_after_tool(reader, tool_set)?;
    element::closed(reader, vec![call])
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

/// Parses `<parameter=city>Oslo</parameter>`.
pub(crate) fn arguments_alone(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    let call = element::arguments_alone(reader, tool_set)?;
    element::closed(reader, vec![call])
}

/// Parses `{"name": "get_weather", <parameter=city>Oslo</parameter>`.
pub(crate) fn json_head(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    let call = body::json_head(reader, tool_set)?;
    element::closed(reader, vec![call])
}
