//! Parses `call:name{a:<escape>text<escape>,b:1}` between markers (FunctionGemma), the variant of Gemma 4 with `<|"|>`
//! around strings, and calls without markers (malformed calls of Gemini).

use crate::repair::rescue::element;
use crate::repair::rescue::grammar::Grammar;
use crate::repair::rescue::literal::{Literal, LiteralReader};
use crate::repair::rescue::python;
use crate::repair::rescue::written::WrittenCall;
use crate::scanner::ToolSet;

/// The call between markers.
#[derive(Debug)]
pub(super) struct MarkedCall;

/// The call without markers, at the start of a line.
#[derive(Debug)]
pub(super) struct BareCall;

const OPENS: [&str; 2] = ["<start_function_call>", "<|tool_call>"];
const CLOSES: [&str; 2] = ["<end_function_call>", "<tool_call|>"];
const CALL: &str = "call:";

/// Delimiters of a string.
const QUOTES: [&str; 2] = ["<escape>", "<|\"|>"];

/// Maximum depth of nested brackets.
const MAX_DEPTH: usize = 32;

impl Grammar for MarkedCall {
    fn read(&self, reader: &mut LiteralReader<'_>, _: &ToolSet) -> Option<Vec<WrittenCall>> {
        OPENS.into_iter().find(|open| reader.take(open))?;
        let mut calls = Vec::new();
        loop {
            let before = reader.at();
            reader.skip_space()?;
            match reader.take(CALL).then(|| call(reader)) {
                Some(call) => calls.push(call?),
                None => {
                    reader.go(before);
                    element::skip_end_tags(reader, &CLOSES);
                    return (!calls.is_empty()).then_some(calls);
                }
            }
            reader.take(",");
        }
    }
}

impl Grammar for BareCall {
    fn read(&self, reader: &mut LiteralReader<'_>, _: &ToolSet) -> Option<Vec<WrittenCall>> {
        reader.take(CALL).then_some(())?;
        Some(vec![call(reader)?])
    }
}

/// Parses `name{...}`.
fn call(reader: &mut LiteralReader<'_>) -> Option<WrittenCall> {
    let name = python::name(reader)?;
    let members = members(reader, MAX_DEPTH)?;
    Some(WrittenCall::named(name, members))
}

/// Parses the members between a pair of braces.
fn members(reader: &mut LiteralReader<'_>, depth: usize) -> Option<Vec<(String, Literal)>> {
    let depth = depth.checked_sub(1)?;
    // Some answers use parentheses instead of the template's braces.
    let close = if reader.take("{") {
        "}"
    } else {
        reader.take("(").then_some(())?;
        ")"
    };
    let mut members = Vec::new();
    loop {
        reader.skip_space()?;
        if reader.take(close) || reader.completes() {
            return Some(members);
        }
        let key = key(reader)?;
        members.push((key, value(reader, depth)?));
        reader.skip_space()?;
        reader.take(",");
    }
}

fn key(reader: &mut LiteralReader<'_>) -> Option<String> {
    if let Some(key) = quoted(reader)? {
        reader.take(":").then_some(())?;
        return Some(key);
    }
    let rest = reader.rest();
    let length = rest
        .find([':', ',', '{', '}', '[', ']', '<', '\n'])
        .filter(|end| rest.get(*end..).is_some_and(|rest| rest.starts_with(':')))?;
    let key = rest.get(..length)?.trim().trim_matches(['"', '\'']).to_owned();
    reader.advance(length + 1)?;
    Some(key)
}

/// Parses a string in the quotes of the notation. Returns `Some(None)` if there is no such string, and `None` if it is
/// not closed.
fn quoted(reader: &mut LiteralReader<'_>) -> Option<Option<String>> {
    let Some(quote) = QUOTES.into_iter().find(|quote| reader.take(quote)) else { return Some(None) };
    let text = reader.up_to(quote)?;
    // If any other content follows, a quote is missing, and this one belongs to another string.
    let ends = reader.rest().trim_start();
    let is_end = ends.is_empty() || ends.starts_with([',', ':', '}', ')', ']']);
    is_end.then(|| Some(text.to_owned()))
}

fn value(reader: &mut LiteralReader<'_>, depth: usize) -> Option<Literal> {
    reader.skip_space()?;
    if let Some(text) = quoted(reader)? {
        return Some(Literal::Text(text));
    }
    match reader.peek()? {
        '{' => members(reader, depth).map(Literal::Object),
        '[' => list(reader, depth),
        '"' | '\'' => in_quotes(reader),
        // In this notation a string may be unquoted, but a quote of the notation always has a closing one.
        _ => reader.value().and_then(|value| match value {
            Literal::Source(text) => (!QUOTES.iter().any(|quote| text.contains(quote))).then_some(Literal::Text(text)),
            value => Some(value),
        }),
    }
}

/// Parses a string in ordinary quotes that a stray quote of the notation may follow.
fn in_quotes(reader: &mut LiteralReader<'_>) -> Option<Literal> {
    let rest = reader.rest();
    let quote = rest.chars().next()?;
    let inner = rest.get(1..)?;
    for (at, _) in inner.match_indices(quote) {
        let behind = inner.get(at + 1..).unwrap_or_default();
        let Some(after) = QUOTES.iter().find_map(|quote| behind.strip_prefix(quote)) else { continue };
        let is_first = inner.get(..at).is_some_and(|text| !QUOTES.iter().any(|quote| text.contains(quote)));
        if is_first && after.trim_start().starts_with([',', '}', ')', ']']) {
            let value = LiteralReader::new(rest.get(..at + 2)?, false).data()?;
            reader.advance(at + 2 + behind.len() - after.len())?;
            return Some(value);
        }
        // Only the first quote of the notation may be a stray one.
        break;
    }
    reader.burn(inner.len());
    reader.value()
}

fn list(reader: &mut LiteralReader<'_>, depth: usize) -> Option<Literal> {
    let depth = depth.checked_sub(1)?;
    reader.take("[").then_some(())?;
    let mut items = Vec::new();
    loop {
        reader.skip_space()?;
        if reader.take("]") || reader.completes() {
            return Some(Literal::List(items));
        }
        items.push(value(reader, depth)?);
        reader.skip_space()?;
        reader.take(",");
    }
}
