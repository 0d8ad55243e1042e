//! `<tool>name</tool><tool_input>{...}</tool_input>`, of agents that parse XML.

use crate::repair::rescue::grammar::Grammar;
use crate::repair::rescue::literal::{Literal, Reader};
use crate::repair::rescue::written::Written;
use crate::repair::rescue::{element, python};
use crate::scanner::Toolbook;

pub(super) struct ToolInput;

const OPEN: &str = "<tool>";

impl Grammar for ToolInput {
    fn name(&self) -> &'static str {
        "tool_input"
    }

    fn marks(&self) -> &'static [&'static str] {
        &[OPEN]
    }

    fn is_reserved(&self) -> bool {
        false
    }

    fn read(&self, reader: &mut Reader<'_>, _: &Toolbook) -> Option<Vec<Written>> {
        let start = reader.at();
        reader.take(OPEN).then_some(())?;
        reader.skip_space()?;
        if reader.rest().starts_with('<') {
            reader.go(start);
            return element::calls(reader);
        }
        let name = python::name(reader)?;
        reader.skip_space()?;
        reader.take("</tool>").then_some(())?;
        reader.skip_space()?;
        reader.take("<tool_input>").then_some(())?;
        let Literal::Text(input) = element::text_up_to_end(reader, "tool_input")? else { return None };
        Some(vec![Written::with_input(name, &input)?])
    }
}
