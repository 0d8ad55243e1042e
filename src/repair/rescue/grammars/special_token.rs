//! Calls behind a special token: `<|python_tag|>` of Llama, `<|tool_call|>` of Granite and Phi, `<|tool_call_start|>` of LFM,
//! `<|action_start|>` of InternLM, `<|START_ACTION|>` of Command R, `<|tools_prefix|>` of Apertus, `<|function_call|>` of GigaChat,
//! `[unused11]` of openPangu, `<|START_OF_FUNCTION_CALL|>` and `<|reserved_special_token_249|>` of functionary's earlier versions.

use crate::repair::rescue::grammar::Grammar;
use crate::repair::rescue::literal::Reader;
use crate::repair::rescue::written::{Written, offered};
use crate::repair::rescue::{body, element};
use crate::scanner::Toolbook;

pub(super) struct SpecialToken;

const MARKS: [&str; 16] = [
    "<|python_tag|>",
    "<|python_start|>",
    "<|tool_call|>",
    "<|tool_calls|>",
    "<|tool_call_start|>",
    "<|action_start|>",
    "<|START_ACTION|>",
    "<|tools_prefix|>",
    "<|function_call|>",
    "function call<|role_sep|>",
    "<|content_invoke_tool_json|>",
    "<|START_OF_FUNCTION_CALL|>",
    "<|reserved_special_token_249|>",
    "[unused11]",
    "<|im_start|>assistant -> tool/function_call",
    "-> tool/function_call",
];

/// Marks behind which the calls are over.
const CLOSES: [&str; 18] = [
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
    "<|im_end|>",
    "<|end_message|>",
    "<|message_sep|>",
    "<|END_OF_FUNCTION_CALL|>",
    "[unused12]",
    "</s>",
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
        let calls = body::read(reader, toolbook, &CLOSES)?;
        element::skip_end_tags(reader, &CLOSES);
        Some(calls.into_iter().map(|call| without_method(call, toolbook)).collect())
    }
}

/// `name.call(a=1)`: Llama writes the calls of its built-in tools as those of a method.
fn without_method(mut call: Written, toolbook: &Toolbook) -> Written {
    let name = call.name.strip_suffix(".call").filter(|name| offered(name, toolbook).is_some()).map(str::to_owned);
    if offered(&call.name, toolbook).is_none()
        && let Some(name) = name
    {
        call.name = name;
    }
    call
}
