//! Parses `<function=name>{...}</function>` of Llama and functionary, and the variant with `<parameter=a>` elements of
//! Qwen Coder.

use super::invoke::Invoke;
use crate::repair::rescue::grammar::Grammar;
use crate::repair::rescue::literal::Reader;
use crate::repair::rescue::written::Written;
use crate::scanner::ToolSet;

#[derive(Debug)]
pub(super) struct FunctionTag;

impl Grammar for FunctionTag {
    fn read(&self, reader: &mut Reader<'_>, tool_set: &ToolSet) -> Option<Vec<Written>> {
        Invoke.read(reader, tool_set)
    }
}
