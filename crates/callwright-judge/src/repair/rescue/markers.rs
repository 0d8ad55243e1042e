//! Markers of content other than calls: reasoning, messages, and content that models invent (results of calls that were
//! never made, and messages of other roles).

/// Markers that begin and end reasoning before an answer.
pub(super) const REASONING: [[&str; 2]; 10] = [
    ["<think>", "</think>"],
    ["<thinking>", "</thinking>"],
    ["<reasoning>", "</reasoning>"],
    ["[THINK]", "[/THINK]"],
    ["<seed:think>", "</seed:think>"],
    ["<mm:think>", "</mm:think>"],
    ["<scratch_pad>", "</scratch_pad>"],
    ["<|START_THINKING|>", "<|END_THINKING|>"],
    ["<|inner_prefix|>", "<|inner_suffix|>"],
    ["<|thought_start|>", "<|thought_end|>"],
];

/// Markers that begin reasoning, with end markers that also end other content.
pub(super) const CHANNELS: [[&str; 2]; 2] =
    [["<|channel|>analysis<|message|>", "<|end|>"], ["<|open|>think<|sep|>", "<|close|>think<|sep|>"]];

/// Markers that begin and end a message to a person, in which calls are only shown.
pub(super) const MESSAGES: [[&str; 2]; 2] = [["to=user<|message|>", "<|end|>"], ["to=self<|message|>", "<|end|>"]];

/// Markers of invented results, at the start of a line. No text between them is a call.
pub(super) const INVENTED_RESULTS: [[&str; 2]; 7] = [
    ["<tool_response>", "</tool_response>"],
    ["<tool_result>", "</tool_result>"],
    ["<tool_results>", "</tool_results>"],
    ["<function_results>", "</function_results>"],
    ["<function_response>", "</function_response>"],
    ["<result>", "</result>"],
    ["<output>", "</output>"],
];

/// Beginnings of content that models invent after a call: the result of the call, or the next message of another role.
const INVENTIONS: [&str; 23] = [
    "<tool_response", "<tool_result", "<tool_output", "<function_response", "<function_result", "<function_output",
    "<observation>", "<|tool_response", "<|tool_output", "<|observation|>", "<｜tool▁outputs▁begin｜>",
    "<｜tool▁output▁begin｜>", "[TOOL_RESULTS]", "[TOOL_RESULT]", "<|im_start|>user", "<|im_start|>tool",
    "<|start_header_id|>user", "<|start_header_id|>tool", "<|start_header_id|>ipython", "<|user|>", "<|tool|>",
    "<start_of_turn>user", "[INST]",
];

/// Labels of a result, at which agents stop the model. A label without a result is not an invention.
const OBSERVATIONS: [&str; 5] = ["Observation:", "**Observation:**", "✿RESULT✿:", "✿RESULT✿", "✿RETURN✿"];

/// Whether a line after a call begins invented content; `rest` follows the line.
pub(super) fn begins_invention(line: &str, rest: &str) -> bool {
    if INVENTIONS.iter().any(|start| line.starts_with(start)) {
        return true;
    }
    let Some(result) = OBSERVATIONS.iter().find_map(|label| line.strip_prefix(label)) else { return false };
    let next = rest.strip_prefix('\n').unwrap_or(rest).split('\n').next().unwrap_or_default().trim();
    !result.trim().is_empty() || !(next.is_empty() || next.starts_with("Thought:") || next.starts_with("Action:"))
}

/// Whether a line is the label of a result without a result.
pub(super) fn is_bare_label(line: &str) -> bool {
    OBSERVATIONS.contains(&line.trim_end())
}
