//! The table of notations, in the order of the documentation. To add a family, add its entry here, and its row in
//! docs/notations.md with a sample in `grammars/samples.rs`: whole texts, streamed texts and residue are then
//! recognised by it. If two openers match at one position, the longer one is used.

use super::form::{ArgumentMarkers, CALL, CallMarkers, Form};
use super::{MarkerStrength, Notation};
use crate::repair::rescue::grammars::{
    arrow_hash, elements, gemma_call, namespace_token, react, single_mark, tool_call, xtml,
};
use crate::repair::rescue::tag::TagKind;
use crate::repair::rescue::{body, element};

/// Tokens of chat templates that belong to no call.
#[rustfmt::skip]
pub(super) const TEMPLATE_TOKENS: [&str; 25] = [
    "<|im_start|>assistant", "<|start_header_id|>assistant<|end_header_id|>", "<|start|>assistant",
    "<|channel|>commentary", "<|channel|>analysis", "<|channel|>final", "<|constrain|>json", "<start_of_turn>model",
    "<end_of_turn>", "<|turn>model", "<turn|>", "<|channel>thought", "<channel|>", "<bot_end>", "<eos>", "<bos>", "<s>",
    "[INST]", "[/INST]", "</parameter>", "</arg_key>", "</arg_value>", "</arguments>", "</tool_input>", "</tool_name>",
];

/// Values that most entries share.
const RESERVED: Notation = Notation {
    name: "",
    open: &[],
    close: &[],
    tag: None,
    strength: MarkerStrength::Reserved,
    begins_line: false,
    form: Form::Call(CALL),
};

#[rustfmt::skip]
pub(crate) static NOTATIONS: [Notation; 28] = [
    Notation {
        name: "tool_call",
        open: &[
            "<tool_call>", "<tool_calls>", "<function_call>", "<function_calls>", "<functioncall>", "<toolcall>",
            "<TOOLCALL>", "<tool_use>", "<seed:tool_call>", "<minimax:tool_call>", "<longcat_tool_call>",
            "<antml:function_calls>", "<atem:function_calls>", "<｜DSML｜function_calls>", "<｜DSML｜tool_calls>",
            "<｜GCML｜tool_calls>", "<|tool_calls>",
        ],
        tag: Some(TagKind::Wrapper),
        form: Form::AtMark(tool_call::read),
        ..RESERVED
    },
    Notation {
        name: "function_tag",
        open: &["<function=", "<function name=", "{\"function="],
        tag: Some(TagKind::Function),
        form: Form::AtMark(elements::calls),
        ..RESERVED
    },
    Notation {
        name: "invoke",
        open: &[
            "<invoke name=", "<invoke>", "<antml:invoke name=", "<atem:invoke name=", "<steptml:invoke name=",
            "<｜DSML｜invoke name=", "<｜GCML｜invoke name=", "<use_mcp_tool>",
        ],
        tag: Some(TagKind::Invoke),
        form: Form::AtMark(elements::calls),
        ..RESERVED
    },
    Notation {
        name: "mistral",
        open: &["[TOOL_CALLS]", "[TOOL_REQUEST]"],
        close: &["[CALL_ID]", "[ARGS]", "[TOOL_CONTENT]", "[/TOOL_CALLS]", "[END_TOOL_REQUEST]"],
        form: Form::AtMark(single_mark::mistral),
        ..RESERVED
    },
    Notation {
        name: "special_token",
        open: &[
            "<|python_tag|>", "<|python_start|>", "<|tool_call|>", "<|tool_calls|>", "<|tool_call_start|>",
            "<|action_start|>", "<|START_ACTION|>", "<|tools_prefix|>", "<|function_call|>",
            "function call<|role_sep|>", "<|content_invoke_tool_json|>", "<|START_OF_FUNCTION_CALL|>",
            "<|reserved_special_token_249|>", "[unused11]", "<|im_start|>assistant -> tool/function_call",
            "-> tool/function_call",
        ],
        close: &[
            "<|eom_id|>", "<|eot_id|>", "<|eot|>", "<|python_end|>", "<|/tool_call|>", "<|/tool_calls|>",
            "<|tool_call_end|>", "<|action_end|>", "<|END_ACTION|>", "<|tools_suffix|>", "<|end_of_text|>", "<|end|>",
            "<|im_end|>", "<|end_message|>", "<|message_sep|>", "<|END_OF_FUNCTION_CALL|>", "[unused12]", "</s>",
        ],
        // InternLM writes the kind of action before the name.
        form: Form::Calls { before: &["<|plugin|>", "<|interpreter|>"], is_paired: false },
        ..RESERVED
    },
    Notation {
        name: "deepseek",
        open: &["<｜tool▁call▁begin｜>", "<|tool▁call▁begin|>", "<｜tool_call_begin｜>"],
        close: &["<｜tool▁call▁end｜>", "<|tool▁call▁end|>", "<｜tool_call_end｜>"],
        // V3 and R1 write the type before the name and a code fence around the arguments, V3.1 does not.
        form: Form::Call(CallMarkers {
            section: &["<｜tool▁calls▁begin｜>", "<|tool▁calls▁begin|>", "<｜tool_calls_begin｜>"],
            section_close: &["<｜tool▁calls▁end｜>", "<|tool▁calls▁end|>", "<｜tool_calls_end｜>"],
            before_name: &["function<｜tool▁sep｜>", "function<|tool▁sep|>", "function<｜tool_sep｜>", ""],
            before_arguments: &["<｜tool▁sep｜>", "<|tool▁sep|>", "<｜tool_sep｜>", ""],
            ..CALL
        }),
        ..RESERVED
    },
    Notation {
        name: "kimi",
        open: &["<|tool_call_begin|>"],
        close: &["<|tool_call_end|>"],
        // The id of a call is the name and its number: `functions.get_weather:0`.
        form: Form::Call(CallMarkers {
            section: &["<|tool_calls_section_begin|>"],
            section_close: &["<|tool_calls_section_end|>"],
            before_arguments: &["<|tool_call_argument_begin|>"],
            is_numbered: true,
            ..CALL
        }),
        ..RESERVED
    },
    Notation {
        name: "recipient",
        open: &["<|recipient|>"],
        close: &["<|stop|>"],
        strength: MarkerStrength::Common,
        form: Form::Call(CallMarkers { section: &["<|from|>assistant"], before_arguments: &["<|content|>"], ..CALL }),
        ..RESERVED
    },
    Notation {
        name: "turn",
        open: &[">>>"],
        strength: MarkerStrength::Common,
        form: Form::AtMark(single_mark::turn),
        ..RESERVED
    },
    Notation {
        name: "harmony",
        open: &[
            "<|start|>assistant to=", "<|start|>assistant<|channel|>commentary to=", "<|channel|>commentary to=",
            "<|start|>assistant<|channel|>analysis to=", "<|channel|>analysis to=",
            "<|start|>assistant<|channel|>final to=", "<|channel|>final to=",
            "<|start|>assistant<|channel|>commentary json to=", "<|channel|>commentary json to=",
            "<|start|>assistant<|channel|>commentary <|constrain|>json to=",
            "<|channel|>commentary <|constrain|>json to=",
            "<|start|>assistant<|channel|>commentary<|constrain|>json to=",
            "<|channel|>commentary<|constrain|>json to=", "<|start|>assistant<|channel|>functions.",
            "<|channel|>functions.",
        ],
        form: Form::AtMark(single_mark::harmony),
        ..RESERVED
    },
    Notation {
        name: "harmony_header",
        open: &["commentary to=", "assistant to=", "to=functions.", "to=multi_tool_use.parallel"],
        strength: MarkerStrength::Common,
        begins_line: true,
        form: Form::AtMark(single_mark::harmony),
        ..RESERVED
    },
    Notation {
        name: "tool_code",
        open: &[
            "```tool_code", "```tool_calls", "```tool_call", "```tool_use", "```function_calls", "```function_call",
            "<tool_code>", "<execute_tool>",
        ],
        close: &["```", "```", "```", "```", "```", "```", "</tool_code>", "</execute_tool>"],
        // A code fence may contain a tag, and a tag a code fence.
        form: Form::Calls { before: &[], is_paired: true },
        ..RESERVED
    },
    Notation {
        name: "gemma_call",
        open: &["<start_function_call>", "<|tool_call>"],
        close: &["<end_function_call>", "<tool_call|>", "<escape>", "<|\"|>"],
        form: Form::BehindMark(gemma_call::marked),
        ..RESERVED
    },
    Notation {
        name: "gemma_call_bare",
        open: &["call:"],
        strength: MarkerStrength::Common,
        begins_line: true,
        form: Form::BehindMark(gemma_call::bare),
        ..RESERVED
    },
    Notation {
        name: "react",
        open: &["Action:", "**Action:**", "**Action**:", "✿FUNCTION✿:", "✿FUNCTION✿", "Action :"],
        strength: MarkerStrength::Common,
        begins_line: true,
        form: Form::BehindMark(react::read),
        ..RESERVED
    },
    Notation {
        name: "labelled",
        open: &[
            "Tool:", "Function:", "**Tool:**", "**Function:**", "Tool name:", "Function name:", "Tool Name:",
            "Function Name:",
        ],
        strength: MarkerStrength::Common,
        begins_line: true,
        form: Form::Call(CallMarkers {
            before_arguments: &[
                "Arguments:", "Parameters:", "Input:", "Args:", "Tool Input:", "Tool input:", "**Arguments:**",
                "**Parameters:**", "**Input:**", "**Args:**",
            ],
            ..CALL
        }),
        ..RESERVED
    },
    Notation {
        name: "prefix_word",
        open: &["<<function>>", "<<api_call>>", "<<tool_call>>", "functools[{", "functools ["],
        strength: MarkerStrength::Common,
        form: Form::AtMark(single_mark::prefix_word),
        ..RESERVED
    },
    Notation {
        name: "tool_input",
        open: &["<tool>"],
        strength: MarkerStrength::Common,
        form: Form::AtMark(single_mark::tool_input),
        ..RESERVED
    },
    Notation {
        name: "argument_token",
        open: &["<|tool_call:start|>"],
        close: &["<|tool_call:end|>"],
        form: Form::Call(CallMarkers {
            argument: Some(ArgumentMarkers {
                open: "<|tool_arg:start|>",
                middle: "<|tool_arg:value|>",
                close: "<|tool_arg:end|>",
            }),
            ..CALL
        }),
        ..RESERVED
    },
    Notation {
        name: "xtml",
        open: &["<|open|>tools<|sep|>", "<|open|>call "],
        close: &[
            "<|close|>json<|sep|>", "<|close|>argument<|sep|>", "<|close|>call<|sep|>", "<|close|>tools<|sep|>",
            "<|close|>message<|sep|>",
        ],
        form: Form::AtMark(xtml::read),
        ..RESERVED
    },
    Notation {
        name: "namespace_token",
        open: &["]<]minimax[>[<tool_call>", "]<]minimax[>[<invoke name="],
        close: &["]<]minimax[>[</invoke>", "]<]minimax[>[</tool_call>"],
        form: Form::AtMark(namespace_token::read),
        ..RESERVED
    },
    Notation {
        name: "plamo",
        open: &["<|plamo:begin_tool_request:plamo|>"],
        close: &["<|plamo:end_tool_arguments:plamo|>", "<|plamo:end_tool_request:plamo|>"],
        form: Form::Call(CallMarkers {
            section: &["<|plamo:begin_tool_requests:plamo|>"],
            section_close: &["<|plamo:end_tool_requests:plamo|>"],
            before_name: &["<|plamo:begin_tool_name:plamo|>"],
            after_name: &["<|plamo:end_tool_name:plamo|>"],
            before_arguments: &["<|plamo:begin_tool_arguments:plamo|>"],
            ..CALL
        }),
        ..RESERVED
    },
    Notation {
        name: "arrow_hash",
        open: &["[TOOL_CALL]", "[tool_call]"],
        close: &["[/TOOL_CALL]", "[/tool_call]"],
        form: Form::BehindMark(arrow_hash::marked),
        ..RESERVED
    },
    Notation {
        name: "arrow_hash_bare",
        open: &[
            "{tool =>", "{tool=>", "{ tool =>", "{name =>", "{name=>", "{:tool =>", "{:name =>", "{\"tool\" =>",
            "{\"name\" =>",
        ],
        strength: MarkerStrength::Tentative,
        begins_line: true,
        form: Form::AtMark(arrow_hash::bare),
        ..RESERVED
    },
    Notation {
        name: "json_head",
        open: &["{\"name\":", "{\"name\" :", "{ \"name\":"],
        strength: MarkerStrength::Tentative,
        begins_line: true,
        form: Form::Element(body::json_head),
        ..RESERVED
    },
    Notation {
        name: "tool_tag",
        tag: Some(TagKind::Tool),
        strength: MarkerStrength::Tentative,
        form: Form::Element(element::named_after_tool),
        ..RESERVED
    },
    Notation {
        name: "name_tag",
        tag: Some(TagKind::Name),
        strength: MarkerStrength::Tentative,
        begins_line: true,
        form: Form::AtMark(elements::behind_name),
        ..RESERVED
    },
    Notation {
        name: "parameter_tag",
        tag: Some(TagKind::Parameter),
        strength: MarkerStrength::Tentative,
        begins_line: true,
        form: Form::Element(element::arguments_alone),
        ..RESERVED
    },
];
