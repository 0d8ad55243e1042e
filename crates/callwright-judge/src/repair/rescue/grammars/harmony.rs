//! `<|channel|>commentary to=functions.name<|message|>{...}<|call|>`, the harmony format of gpt-oss; `to=functions.name` without its
//! tokens, where they were stripped.

use crate::repair::rescue::grammar::Grammar;
use crate::repair::rescue::literal::{Literal, Reader};
use crate::repair::rescue::written::Written;
use crate::repair::rescue::{body, element, python, shape};
use crate::scanner::Toolbook;

#[derive(Debug)]
pub(super) struct Harmony;

const MESSAGE: &str = "<|message|>";

/// Marks behind which the message is over.
const ENDS: [&str; 4] = ["<|call|>", "<|end|>", "<|return|>", "<|im_end|>"];

/// The tool that only wraps calls of others.
const PARALLEL: &str = "multi_tool_use.parallel";

/// Bytes of a header before its message.
const MAX_HEADER: usize = 256;

impl Grammar for Harmony {
    fn read(&self, reader: &mut Reader<'_>, toolbook: &Toolbook) -> Option<Vec<Written>> {
        call(reader, toolbook)
    }
}

fn call(reader: &mut Reader<'_>, toolbook: &Toolbook) -> Option<Vec<Written>> {
    let header = reader.rest().bytes().take(MAX_HEADER).position(|byte| byte == b'{')?;
    let to = reader.rest().get(..header)?.find("to=")?;
    reader.advance(to + "to=".len())?;
    let name = python::name(reader)?;
    let rest = reader.rest();
    let message = rest.get(..rest.find('{')?)?;
    // Without its message mark, only the kind of content may stand between the two.
    let between = message.rfind(MESSAGE).map_or(message, |at| message.get(at + MESSAGE.len()..).unwrap_or_default());
    let kind = between.trim().trim_start_matches(':').trim().trim_start_matches("<|constrain|>");
    if !matches!(kind, "" | "json" | "code") {
        return None;
    }
    reader.advance(message.len())?;
    let arguments = body::arguments(reader, &[])?;
    element::skip_end_tags(reader, &ENDS);
    calls(name, &arguments, reader, toolbook)
}

/// One call, or those that the wrapping tool is to make.
fn calls(name: String, arguments: &Literal, reader: &Reader<'_>, toolbook: &Toolbook) -> Option<Vec<Written>> {
    if name == PARALLEL {
        return shape::calls(arguments, toolbook, &reader.nesting_within());
    }
    Some(vec![Written::with_arguments(name, arguments)?])
}
