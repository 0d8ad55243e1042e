//! `<function=name>{...}</function>` of Llama and functionary, and the same with `<parameter=a>` elements, of Qwen's coders.

use super::tool_call::CLOSES;
use crate::repair::rescue::element;
use crate::repair::rescue::grammar::Grammar;
use crate::repair::rescue::literal::Reader;
use crate::repair::rescue::written::Written;
use crate::scanner::Toolbook;

pub(super) struct FunctionTag;

impl Grammar for FunctionTag {
    fn name(&self) -> &'static str {
        "function_tag"
    }

    fn marks(&self) -> &'static [&'static str] {
        &["<function=", "<function name="]
    }

    fn read(&self, reader: &mut Reader<'_>, _: &Toolbook) -> Option<Vec<Written>> {
        let calls = element::calls(reader)?;
        element::skip_end_tags(reader, &CLOSES);
        Some(calls)
    }
}
