//! Parses `<tool>name</tool><tool_input>{...}</tool_input>`, a notation of agents that parse XML.

use crate::repair::rescue::extent::{self, Breaks};
use crate::repair::rescue::literal::LiteralReader;
use crate::repair::rescue::written::WrittenCall;
use crate::repair::rescue::{element, python};
use crate::scanner::ToolSet;

const OPEN: &str = "<tool>";

pub(in crate::repair::rescue) fn read(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    let start = reader.at();
    reader.take(OPEN).then_some(())?;
    reader.skip_space()?;
    if reader.rest().starts_with('<') {
        reader.go(start);
        return element::calls(reader, tool_set);
    }
    let name = python::name(reader)?;
    reader.skip_space()?;
    reader.take("</tool>").then_some(())?;
    reader.skip_space()?;
    reader.take("<tool_input>").then_some(())?;
    let input = reader.up_to("</tool_input>")?;
    Some(vec![WrittenCall::with_input(name, extent::inner_text(input, Breaks::Pair))?])
}
