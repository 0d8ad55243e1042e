//! Parses `<invoke name="f"><parameter name="a">1</parameter></invoke>`, the elements of Claude, DeepSeek 3.2 and
//! MiniMax with any wrapper, and `<use_mcp_tool>` of coding agents. Also parses `<function=name>{...}</function>` of
//! Llama and functionary, and its variant with `<parameter=a>` elements of Qwen Coder.

use crate::repair::rescue::element;
use crate::repair::rescue::grammar::Grammar;
use crate::repair::rescue::literal::LiteralReader;
use crate::repair::rescue::written::WrittenCall;
use crate::scanner::ToolSet;

#[derive(Debug)]
pub(super) struct Invoke;

impl Grammar for Invoke {
    fn read(&self, reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
        let calls = element::calls(reader, tool_set)?;
        element::closed(reader, calls)
    }
}
