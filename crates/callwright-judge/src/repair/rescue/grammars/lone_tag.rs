//! Parses elements without an enclosing one: named after the tool, beginning with the tool's name or a JSON head, or
//! arguments alone.

use crate::repair::rescue::grammar::Grammar;
use crate::repair::rescue::literal::LiteralReader;
use crate::repair::rescue::tag::{self, TagKind};
use crate::repair::rescue::written::WrittenCall;
use crate::repair::rescue::{body, element, extent};
use crate::scanner::ToolSet;

/// Notation `<get_weather><city>Oslo</city></get_weather>`.
#[derive(Debug)]
pub(super) struct ToolTag;

/// Notation `<tool_name>get_weather</tool_name>` followed by the arguments.
#[derive(Debug)]
pub(super) struct NameTag;

/// Notation `<parameter=city>Oslo</parameter>`.
#[derive(Debug)]
pub(super) struct ParameterTag;

/// Notation `{"name": "get_weather", <parameter=city>Oslo</parameter>`.
#[derive(Debug)]
pub(super) struct JsonHead;

impl Grammar for ToolTag {
    fn read(&self, reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
        let call = element::named_after_tool(reader, tool_set)?;
        element::closed(reader, vec![call])
    }
}

impl Grammar for NameTag {
    fn read(&self, reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
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
}

impl Grammar for ParameterTag {
    fn read(&self, reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
        let call = element::arguments_alone(reader, tool_set)?;
        element::closed(reader, vec![call])
    }
}

impl Grammar for JsonHead {
    fn read(&self, reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
        let call = body::json_head(reader, tool_set)?;
        element::closed(reader, vec![call])
    }
}
