//! Parses `<function=name>{...}</function>` of Llama and functionary, and the variant with `<parameter=a>` elements of
//! Qwen Coder.

use super::invoke::Invoke;
use crate::repair::rescue::grammar::Grammar;
use crate::repair::rescue::literal::LiteralReader;
use crate::repair::rescue::written::WrittenCall;
use crate::scanner::ToolSet;

#[derive(Debug)]
pub(super) struct FunctionTag;

impl Grammar for FunctionTag {
    fn read(&self, reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
        Invoke.read(reader, tool_set)
    }
}
