//! Parses `<|channel|>commentary to=functions.name<|message|>{...}<|call|>`, the harmony format of gpt-oss, and
//! `to=functions.name` if the tokens were stripped.

use crate::repair::rescue::call_names::in_header;
use crate::repair::rescue::literal::LiteralReader;
use crate::repair::rescue::written::WrittenCall;
use crate::repair::rescue::{body, element, python, shape};
use crate::scanner::ToolSet;
use crate::scanner::names::CONTENT_TYPES;

const MESSAGE: &str = "<|message|>";

/// Marker before the channel, and before the recipient that a model wrote in its place.
const CHANNEL: &str = "<|channel|>";
const RECIPIENT: &str = "to=";

/// Markers that end the message.
const ENDS: [&str; 4] = ["<|call|>", "<|end|>", "<|return|>", "<|im_end|>"];

/// Tool that only wraps calls of other tools.
const PARALLEL: &str = "multi_tool_use.parallel";

/// Maximum number of bytes of a header before its message.
const MAX_HEADER: usize = 256;

pub(in crate::repair::rescue) fn read(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    let header = reader.rest().bytes().take(MAX_HEADER).position(|byte| byte == b'{')?;
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
    element::skip_end_tags(reader, &ENDS);
    if name == PARALLEL {
        return shape::calls(&arguments, tool_set, &reader.nesting_within());
    }
    Some(vec![WrittenCall::with_arguments(name, &arguments)?])
}
