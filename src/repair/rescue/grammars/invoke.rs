//! `<invoke name="f"><parameter name="a">1</parameter></invoke>`: the elements of Claude, DeepSeek 3.2 and MiniMax, whatever
//! stands around them; `<use_mcp_tool>` of coding agents.

use super::tool_call::CLOSES;
use crate::repair::rescue::element;
use crate::repair::rescue::grammar::Grammar;
use crate::repair::rescue::literal::Reader;
use crate::repair::rescue::written::Written;
use crate::scanner::Toolbook;

pub(super) struct Invoke;

impl Grammar for Invoke {
    fn name(&self) -> &'static str {
        "invoke"
    }

    fn marks(&self) -> &'static [&'static str] {
        &[
            "<invoke name=",
            "<invoke>",
            "<antml:invoke name=",
            "<atem:invoke name=",
            "<steptml:invoke name=",
            "<｜DSML｜invoke name=",
            "<｜GCML｜invoke name=",
            "<use_mcp_tool>",
        ]
    }

    fn read(&self, reader: &mut Reader<'_>, _: &Toolbook) -> Option<Vec<Written>> {
        let calls = element::calls(reader)?;
        element::skip_end_tags(reader, &CLOSES);
        Some(calls)
    }
}
