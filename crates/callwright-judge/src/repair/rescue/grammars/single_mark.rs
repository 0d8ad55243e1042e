//! Readers of notations with one mark before a call.

use crate::repair::rescue::call_names::{MAX_HEAD, in_header, offered};
use crate::repair::rescue::extent::{self, Breaks};
use crate::repair::rescue::literal::LiteralReader;
use crate::repair::rescue::written::WrittenCall;
use crate::repair::rescue::{body, element, python, shape};
use callwright_scanner::ToolSet;
use callwright_scanner::names::CONTENT_TYPES;

/// Parses `[TOOL_CALLS] [{...}]`, `[TOOL_CALLS]name[ARGS]{...}` of Mistral's later tokenizers, and `[TOOL_REQUEST]` of
/// LM Studio.
pub(crate) fn mistral(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    if reader.take("[TOOL_REQUEST]") {
        return body::read(reader, tool_set, &["[END_TOOL_REQUEST]"]);
    }
    reader.take("[TOOL_CALLS]").then_some(())?;
    match reader.attempt(with_inner_marks) {
        Some(call) => Some(body::with_further(reader, tool_set, call)),
        None => body::read(reader, tool_set, &["</s>"]),
    }
}

/// Parses `name[CALL_ID]id[ARGS]{...}`.
fn with_inner_marks(reader: &mut LiteralReader<'_>) -> Option<WrittenCall> {
    reader.skip_space()?;
    let name = python::name(reader)?;
    if reader.take("[CALL_ID]") {
        let length = reader.find("[ARGS]")?;
        reader.advance(length)?;
    }
    reader.take("[ARGS]").then_some(())?;
    let arguments = body::arguments(reader, &["[TOOL_CALLS]", "</s>"])?;
    element::skip_end_tags(reader, &["</s>"]);
    WrittenCall::with_arguments(name, &arguments)
}

/// Parses `>>>name` with the arguments on the next line, of functionary 3.
pub(crate) fn turn(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    let mut calls = Vec::new();
    loop {
        let before = reader.at();
        reader.skip_space()?;
        let Some(call) = turn_call(reader, tool_set) else {
            reader.go(before);
            return (!calls.is_empty()).then_some(calls);
        };
        calls.push(call);
    }
}

fn turn_call(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<WrittenCall> {
    reader.take(">>>").then_some(())?;
    let name = python::name(reader)?;
    // The name must end its line, because code follows the prompt of a Python interpreter.
    let ends_line = reader.rest().trim_start_matches([' ', '\r']).starts_with('\n');
    ends_line.then(|| offered(&name, tool_set))??;
    reader.skip_space()?;
    let arguments = reader.peek().filter(|next| *next == '{').and_then(|_| body::arguments(reader, &[]))?;
    element::skip_end_tags(reader, &["<|stop|>"]);
    WrittenCall::with_arguments(name, &arguments)
}

/// Marker before the channel of harmony, and before the recipient that a model wrote in its place.
const CHANNEL: &str = "<|channel|>";
const RECIPIENT: &str = "to=";
const MESSAGE: &str = "<|message|>";

/// Parses `<|channel|>commentary to=functions.name<|message|>{...}<|call|>`, the harmony format of gpt-oss, and
/// `to=functions.name` if the tokens were stripped.
pub(crate) fn harmony(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    let header = reader.rest().bytes().take(MAX_HEAD).position(|byte| byte == b'{')?;
    let head = reader.rest().get(..header)?;
    let recipient = head.find(RECIPIENT).map(|at| at + RECIPIENT.len());
    reader.advance(recipient.or_else(|| head.find(CHANNEL).map(|at| at + CHANNEL.len()))?)?;
    let name = in_header(python::name(reader)?, tool_set);
    let rest = reader.rest();
    let message = rest.get(..rest.find('{')?)?;
    // Without the message marker, only the content type may be between the name and the arguments.
    let between = message.rfind(MESSAGE).map_or(message, |at| message.get(at + MESSAGE.len()..).unwrap_or_default());
    let kind = between.trim().trim_start_matches(':').trim().trim_start_matches("<|constrain|>");
    if !(kind.is_empty() || CONTENT_TYPES.contains(&kind)) {
        return None;
    }
    reader.advance(message.len())?;
    let arguments = body::arguments(reader, &[])?;
    element::skip_end_tags(reader, &["<|call|>", "<|end|>", "<|return|>", "<|im_end|>"]);
    // This tool only wraps calls of other tools.
    if name == "multi_tool_use.parallel" {
        return shape::calls(&arguments, tool_set, &reader.nesting_within());
    }
    Some(vec![WrittenCall::with_arguments(name, &arguments)?])
}

/// Parses code or data after a prefix word: `<<function>>f(a=1)` of Gorilla and `functools[{...}]` of Firefunction and
/// Phi. `Call: f(a=1)<bot_end>` of NexusRaven is parsed without markers.
pub(crate) fn prefix_word(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    if reader.take("functools") {
        reader.skip_space()?;
        return python::sequence(reader, tool_set);
    }
    reader.up_to(">>")?;
    reader.take(":");
    body::read(reader, tool_set, &[])
}

/// Parses `<tool>name</tool><tool_input>{...}</tool_input>`, a notation of agents that parse XML.
pub(crate) fn tool_input(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    let start = reader.at();
    reader.take("<tool>").then_some(())?;
    reader.skip_space()?;
    if reader.rest().starts_with('<') {
        reader.go(start);
        return element::calls(reader, tool_set);
    }
    let name = python::name(reader)?;
    reader.skip_space()?;
    reader.take("</tool>").then_some(())?;
    reader.skip_space()?;
    reader.take("<tool_input>").then_some(())?;
    let input = reader.up_to("</tool_input>")?;
    Some(vec![WrittenCall::with_input(name, extent::inner_text(input, Breaks::Pair))?])
}
