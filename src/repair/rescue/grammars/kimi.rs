//! `<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{...}<|tool_call_end|>`, of Kimi K2.

use crate::repair::rescue::grammar::Grammar;
use crate::repair::rescue::literal::Reader;
use crate::repair::rescue::written::Written;
use crate::repair::rescue::{body, python};
use crate::scanner::Toolbook;

pub(super) struct Kimi;

const SECTION: &str = "<|tool_calls_section_begin|>";
const SECTION_END: &str = "<|tool_calls_section_end|>";
const CALL: &str = "<|tool_call_begin|>";
const ARGUMENTS: &str = "<|tool_call_argument_begin|>";
const CALL_END: &str = "<|tool_call_end|>";

impl Grammar for Kimi {
    fn name(&self) -> &'static str {
        "kimi"
    }

    fn marks(&self) -> &'static [&'static str] {
        &[SECTION, CALL]
    }

    fn read(&self, reader: &mut Reader<'_>, _: &Toolbook) -> Option<Vec<Written>> {
        reader.take(SECTION);
        let mut calls = Vec::new();
        loop {
            reader.skip_space()?;
            if reader.take(SECTION_END) || !reader.take(CALL) {
                break;
            }
            reader.skip_space()?;
            let id = python::name(reader)?;
            // The id is the name and the number of the call.
            let name = id.rsplit_once(':').map_or(id.as_str(), |(name, _)| name);
            reader.skip_space()?;
            reader.take(ARGUMENTS).then_some(())?;
            let arguments = body::arguments(reader, &[CALL_END])?;
            reader.skip_space()?;
            reader.take(CALL_END);
            calls.push(Written::with_arguments(name, &arguments)?);
        }
        (!calls.is_empty()).then_some(calls)
    }
}
