//! A fence of the kind `tool_code` (or `tool_call`, `function_call`) with calls as code, of Gemma and Gemini; `<tool_code>` likewise.

use crate::repair::rescue::body;
use crate::repair::rescue::grammar::Grammar;
use crate::repair::rescue::literal::Reader;
use crate::repair::rescue::written::Written;
use crate::scanner::Toolbook;

pub(super) struct ToolCode;

const MARKS: [[&str; 2]; 8] = [
    ["```tool_code", "```"],
    ["```tool_calls", "```"],
    ["```tool_call", "```"],
    ["```tool_use", "```"],
    ["```function_calls", "```"],
    ["```function_call", "```"],
    ["<tool_code>", "</tool_code>"],
    ["<execute_tool>", "</execute_tool>"],
];

impl Grammar for ToolCode {
    fn name(&self) -> &'static str {
        "tool_code"
    }

    fn marks(&self) -> &'static [&'static str] {
        &[MARKS[0][0], MARKS[1][0], MARKS[2][0], MARKS[3][0], MARKS[4][0], MARKS[5][0], MARKS[6][0], MARKS[7][0]]
    }

    fn read(&self, reader: &mut Reader<'_>, toolbook: &Toolbook) -> Option<Vec<Written>> {
        let [_, close] = MARKS.into_iter().find(|[open, _]| reader.take(open))?;
        body::read(reader, toolbook, &[close])
    }
}
