//! Parses `<tool_call>` and similar elements: data, code or elements between a pair of tags.
//!
//! The chat templates of Hermes, Qwen, GLM, Granite (`<function_call>`), Nemotron (`<TOOLCALL>`), Jamba and Olmo use
//! this notation.

use crate::repair::rescue::call_names::{MAX_WRAPPERS, offered};
use crate::repair::rescue::literal::LiteralReader;
use crate::repair::rescue::tag::{self, Tag, TagKind};
use crate::repair::rescue::written::WrittenCall;
use crate::repair::rescue::{body, element, pairs, plain};
use callwright_scanner::ToolSet;

/// Namespace of the template that writes arguments verbatim between their tags, in elements like those of Qwen.
const INLINE: &str = "seed:";

/// Maximum number of bytes of prose between a start tag and the call after it.
const MAX_PROSE: usize = 2048;

pub(crate) fn read(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    let calls = between(reader, tool_set, MAX_WRAPPERS)?;
    element::closed(reader, calls)
}

/// Whether an element contains calls.
fn is_wrapper(tag: &Tag<'_>) -> bool {
    tag.kind == Some(TagKind::Wrapper) || tag.name == "tool_use"
}

fn between(reader: &mut LiteralReader<'_>, tool_set: &ToolSet, depth: usize) -> Option<Vec<WrittenCall>> {
    let depth = depth.checked_sub(1)?;
    let mark = reader.at();
    let tag = tag::take(reader).filter(is_wrapper)?;
    let close = format!("</{}>", tag.full);
    let start = reader.at();
    if tag.value.is_none() {
        if let Some(calls) = reader.attempt(|reader| wrapped(reader, tool_set, &tag, &close, depth)) {
            return Some(calls);
        }
        if let Some(call) = reader.attempt(|reader| pairs::call(reader, tool_set, tag.name)) {
            return Some(vec![call]);
        }
        if tag.full.starts_with(INLINE) && reader.rest().trim_start().starts_with('<') {
            return inline(reader, tool_set, &close);
        }
        // A tag that is never closed may be opened again for the next call.
        if let Some(calls) = body::read(reader, tool_set, &[&close, "<|im_end|>"]) {
            return Some(calls);
        }
    }
    reader.go(mark);
    if let Some(calls) = element::calls(reader, tool_set) {
        return Some(calls);
    }
    reader.go(start);
    reader.skip_space()?;
    if let Some(call) = plain::assignments(reader, tool_set) {
        return Some(vec![call]);
    }
    behind_prose(reader, tool_set, &close)
}

/// Parses further pairs of tags within this one.
fn wrapped(
    reader: &mut LiteralReader<'_>,
    tool_set: &ToolSet,
    outer: &Tag<'_>,
    close: &str,
    depth: usize,
) -> Option<Vec<WrittenCall>> {
    let mut calls = Vec::new();
    loop {
        let before = reader.at();
        reader.skip_space()?;
        if !calls.is_empty() && reader.take(close) {
            return Some(calls);
        }
        // The call was closed with the end tag of its wrapper.
        if let Some(end) = tag::end(reader.rest()).filter(|end| !calls.is_empty() && end.name == outer.name) {
            reader.advance(end.length)?;
            return Some(calls);
        }
        let more = tag::start(reader.rest()).is_some_and(|tag| is_wrapper(&tag));
        match more.then(|| between(reader, tool_set, depth)).flatten() {
            Some(more) => calls.extend(more),
            None => {
                reader.go(before);
                return (!calls.is_empty()).then_some(calls);
            }
        }
    }
}

/// Parses elements up to `close`, with the verbatim text between their tags as values.
fn inline(reader: &mut LiteralReader<'_>, tool_set: &ToolSet, close: &str) -> Option<Vec<WrittenCall>> {
    let mut calls = Vec::new();
    loop {
        let before = reader.at();
        reader.skip_space()?;
        if reader.take(close) || reader.rest().is_empty() && reader.completes() {
            return (!calls.is_empty()).then_some(calls);
        }
        match element::calls_with(reader, tool_set, true) {
            Some(more) => calls.extend(more),
            None => {
                reader.go(before);
                return (!calls.is_empty()).then_some(calls);
            }
        }
    }
}

/// Parses a call after prose within the pair of tags, from the first bracket or element.
fn behind_prose(reader: &mut LiteralReader<'_>, tool_set: &ToolSet, close: &str) -> Option<Vec<WrittenCall>> {
    let rest = reader.rest();
    let window = rest.get(..rest.floor_char_boundary(MAX_PROSE))?;
    let at = window.find(['{', '[', '<', '('])?;
    let is_prose = window.get(..at).is_some_and(|prose| prose.trim_end().contains(char::is_whitespace));
    if !is_prose || rest.get(at..).is_some_and(|rest| rest.starts_with(close) || rest.starts_with('(')) {
        return None;
    }
    reader.advance(at)?;
    let calls = body::read(reader, tool_set, &[close])?;
    let is_closed = reader.text.get(..reader.at()).is_some_and(|before| before.ends_with(close));
    (is_closed && calls.iter().all(|call| offered(&call.name, tool_set).is_some())).then_some(calls)
}
