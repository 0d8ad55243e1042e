//! Calls behind a special token: `<|python_tag|>` of Llama, `<|tool_call|>` of Granite and Phi, `<|tool_call_start|>` of LFM,
//! `<|action_start|>` of InternLM, `<|START_ACTION|>` of Command R, `<|tools_prefix|>` of Apertus.

use crate::repair::rescue::body;
use crate::repair::rescue::grammar::Grammar;
use crate::repair::rescue::literal::Reader;
use crate::repair::rescue::written::Written;
use crate::scanner::Toolbook;

pub(super) struct SpecialToken;

const MARKS: [&str; 8] = [
    "<|python_tag|>",
    "<|python_start|>",
    "<|tool_call|>",
    "<|tool_calls|>",
    "<|tool_call_start|>",
    "<|action_start|>",
    "<|START_ACTION|>",
    "<|tools_prefix|>",
];

/// Marks behind which the calls are over.
const CLOSES: [&str; 12] = [
    "<|eom_id|>",
    "<|eot_id|>",
    "<|eot|>",
    "<|python_end|>",
    "<|/tool_call|>",
    "<|/tool_calls|>",
    "<|tool_call_end|>",
    "<|action_end|>",
    "<|END_ACTION|>",
    "<|tools_suffix|>",
    "<|end_of_text|>",
    "<|end|>",
];

impl Grammar for SpecialToken {
    fn name(&self) -> &'static str {
        "special_token"
    }

    fn marks(&self) -> &'static [&'static str] {
        &MARKS
    }

    fn read(&self, reader: &mut Reader<'_>, toolbook: &Toolbook) -> Option<Vec<Written>> {
        MARKS.into_iter().find(|mark| reader.take(mark))?;
        // InternLM says which kind of action it is.
        if !reader.take("<|plugin|>") {
            reader.take("<|interpreter|>");
        }
        body::read(reader, toolbook, &CLOSES)
    }
}
